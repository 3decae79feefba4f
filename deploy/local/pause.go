package local

import "time"

// pause stops the server: fast, as Postgres calls it, which ends every session. It does nothing where somebody came
// since the monitor looked.
func (c *Compute) pause() (done bool) {
	c.mu.Lock()
	if c.state != awake {
		c.mu.Unlock()
		return true
	}
	if time.Since(c.active) < c.opt.IdleTimeout {
		c.mu.Unlock()
		return false
	}
	c.become(pausing)
	c.tell(Pausing, "", nil)
	c.mu.Unlock()

	c.ended(c.server.process.stop())
	return true
}

// ended is what remains to be done when the server is gone: by a pause, or by itself.
func (c *Compute) ended(err error) {
	c.mu.Lock()
	if c.state == awake {
		c.become(pausing) // so that nobody is let in while those inside leave
	}
	c.mu.Unlock()
	c.door.hurry()
	c.links.Wait()

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == stopped {
		return
	}
	c.usage.Pauses++
	c.rest(err)
	if client := c.wanted; client != nil {
		c.wanted = nil
		c.beginResume(*client)
	}
}

// rest makes the compute be paused. The caller holds mu, and there is no process of the server.
func (c *Compute) rest(err error) {
	c.usage.Awake += time.Since(c.since)
	c.become(paused)
	c.tell(Paused, "", err)
	c.door.open()
}
