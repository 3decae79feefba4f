package local

import "time"

// beginResume starts the server for a client. The caller holds mu, and the compute is paused.
func (c *Compute) beginResume(client string) {
	c.since = time.Now()
	c.become(resuming)
	c.tell(Resuming, client, nil)
	if c.opt.Manner == Refused {
		c.door.shut()
	}
	c.tasks.Go(func() { c.resume(client) })
}

func (c *Compute) resume(client string) {
	began := time.Now()
	err := c.server.start(c.life)
	if err == nil {
		select {
		case <-time.After(c.opt.ResumeTime - time.Since(began)):
		case <-c.life.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == stopped {
		return
	}
	if c.failed = err; err != nil {
		c.rest(err)
		return
	}
	c.active = time.Now()
	c.usage.Resumes++
	c.become(awake)
	c.tell(Resumed, client, nil)
	c.door.open()
	c.tasks.Go(c.watch)
}
