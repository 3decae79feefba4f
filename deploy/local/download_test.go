//go:build unix

package local

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A downloaded server is one like any other: packed from the binaries of this machine, served, fetched, started.
func TestDownload(t *testing.T) {
	as, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	this, err := binaries(t.Context(), Options{}, as)
	if err != nil {
		t.Fatal(err)
	}
	temp := publicTemp(t)
	repository, _ := serve(t, pack(t, this))
	var downloaded bool
	opt := Options{Repository: repository.URL, Cache: filepath.Join(temp, "cache"), Settings: quick, downloaded: &downloaded}

	opt.Binaries, err = findOrDownload(t.Context(), nil, opt, as)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(opt.Cache, "postgresql-17.5.0", "bin"); opt.Binaries != want {
		t.Errorf("downloaded to %s, want %s", opt.Binaries, want)
	}
	if !downloaded {
		t.Error("nobody is told that it was downloaded")
	}
	connect(t, start(t, opt))

	// The next one needs no repository.
	repository.Close()
	downloaded = false
	if _, err := findOrDownload(t.Context(), nil, opt, as); err != nil || downloaded {
		t.Errorf("from the cache: %v, downloaded %v", err, downloaded)
	}
}

func TestDownloadAtOnce(t *testing.T) {
	as, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	temp := publicTemp(t)
	repository, fetches := serve(t, pack(t, stub(t, filepath.Join(temp, "bin"), "17.5", "initdb", "postgres", "pg_ctl")))
	opt := Options{Repository: repository.URL, Cache: filepath.Join(temp, "cache")}
	var downloads sync.WaitGroup
	for range 4 {
		downloads.Go(func() {
			if _, err := download(t.Context(), opt, as); err != nil {
				t.Error(err)
			}
		})
	}
	downloads.Wait()
	t.Logf("%d fetches", fetches.Load())
	if left, err := os.ReadDir(opt.Cache); err != nil || len(left) != 1 {
		t.Errorf("in the cache: %v, %v, want the server alone", left, err)
	}
}

func TestDownloadDamaged(t *testing.T) {
	as, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Cache: filepath.Join(publicTemp(t), "cache")}
	for name, jar := range map[string][]byte{
		"no archive":     []byte("<html>please log in</html>"),
		"nothing inside": zipped(t, tarred(t, nil)),
	} {
		repository, _ := serve(t, jar)
		opt.Repository = repository.URL
		_, err := findOrDownload(t.Context(), nil, opt, as)
		if err == nil || !strings.Contains(err.Error(), "install it") {
			t.Errorf("%s: got %v, want what to install", name, err)
		}
		if left, err := os.ReadDir(opt.Cache); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the cache is left, with %v", name, left)
		}
	}
}

func TestDownloadCancelled(t *testing.T) {
	as, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hang := make(chan struct{})
	repository := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-hang
	}))
	defer repository.Close()
	defer close(hang)
	opt := Options{Repository: repository.URL, Cache: filepath.Join(publicTemp(t), "cache")}
	if _, err := findOrDownload(ctx, nil, opt, as); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if left, err := os.ReadDir(opt.Cache); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cache is left, with %v", left)
	}
}

// serve is a repository that has one jar for every machine and version, and counts how often it was fetched.
func serve(t *testing.T, jar []byte) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var fetches atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, ".sha256"):
			fmt.Fprintf(w, "%x", sha256.Sum256(jar))
		case strings.HasPrefix(r.URL.Path, "/io/zonky/test/postgres/embedded-postgres-binaries-"):
			fetches.Add(1)
			w.Write(jar)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server, &fetches
}

// pack makes a jar of the server binaries in bin. What lies beside them is linked: a server that was moved as a whole
// looks there, one of a distribution where it was built to be.
func pack(t *testing.T, bin string) []byte {
	t.Helper()
	var headers []*tar.Header
	contents := map[string][]byte{}
	for _, name := range []string{"initdb", "postgres", "pg_ctl"} {
		content, err := os.ReadFile(filepath.Join(bin, name))
		if err != nil {
			t.Fatal(err)
		}
		contents["bin/"+name] = content
		headers = append(headers, &tar.Header{Name: "bin/" + name, Mode: 0o755, Size: int64(len(content))})
	}
	for _, name := range []string{"lib", "share"} {
		beside := filepath.Join(filepath.Dir(bin), name)
		if _, err := os.Stat(beside); err == nil {
			headers = append(headers, &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: beside, Mode: 0o777})
		}
	}
	return zipped(t, tarred(t, contents, headers...))
}

func tarred(t *testing.T, contents map[string][]byte, headers ...*tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, header := range headers {
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(contents[header.Name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t *testing.T, tar []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "postgres.txz", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(xz(tar)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// xz writes the format without compressing anything, so that the test needs no xz on the machine: one block of LZMA2
// whose chunks are all stored. See "The .xz File Format".
func xz(data []byte) []byte {
	sum := func(b []byte) []byte { return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b)) }
	pad := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	flags := []byte{0, 1} // checked by CRC32

	out := append([]byte("\xfd7zXZ\x00"), sum(flags)...)
	block := sum([]byte{2, 0, 0x21, 1, 0x16, 0, 0, 0}) // of 12 bytes; one filter, LZMA2, a dictionary of 8 MiB
	for rest, control := data, byte(1); len(rest) > 0; control = 2 {
		n := min(len(rest), 1<<16)
		block = append(binary.BigEndian.AppendUint16(append(block, control), uint16(n-1)), rest[:n]...)
		rest = rest[n:]
	}
	block = append(block, 0)
	unpadded := len(block) + crc32.Size
	block = binary.LittleEndian.AppendUint32(pad(block), crc32.ChecksumIEEE(data))

	index := []byte{0, 1}
	index = binary.AppendUvarint(index, uint64(unpadded))
	index = binary.AppendUvarint(index, uint64(len(data)))
	index = sum(pad(index))

	footer := append(binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1)), flags...)
	out = append(append(out, block...), index...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(footer))
	return append(append(out, footer...), "YZ"...)
}
