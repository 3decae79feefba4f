package deploy

import (
	"strings"
	"testing"
)

// What has the handlers is what the files start; where that cannot be known, they are not made.
func TestProgram(t *testing.T) {
	inGo := Program{Handlers: true, Own: "shop", Package: "example.com/shop/cmd/shop"}
	with := func(p Program, named string) Program { p.Path = named; return p }
	const image = "registry.example.com/shop:1"
	for _, test := range []struct {
		platform string
		program  Program
		image    string
		want     string // in the files, or why they are refused
		assumes  bool
	}{
		{"systemd", Program{}, "", "ExecStart=/usr/local/bin/ebb run\n", false},
		{"systemd", inGo, "", "ExecStart=/usr/local/bin/shop run\n", true},
		{"systemd", inGo, "", "--unit shop-jobs --identifier shop ", true},
		{"systemd", with(inGo, "worker"), "", "ExecStart=/usr/local/bin/worker run\n", false},
		{"systemd", with(inGo, "/opt/shop/worker"), "", "ExecStart=/opt/shop/worker run\n", false},
		{"systemd", with(inGo, "./worker"), "", "refused: --program: ./worker is relative, and a run starts in /;", false},
		{"systemd", with(inGo, "/home/ada/worker"), "", "refused: --program: /home/ada/worker is hidden from a run by ProtectHome=yes;", false},
		{"systemd", with(inGo, "/tmp/worker"), "", "refused: --program: /tmp/worker is empty in a run, by PrivateTmp=yes;", false},
		{"kubernetes", Program{}, "", "# A placeholder: name your image", true},
		{"kubernetes", inGo, "", "refused: --image: the handlers are in this program", false},
		{"kubernetes", inGo, image, "image: \"" + image + "\"\n              args:", true},
		{"kubernetes", with(inGo, "/app/$shop"), image, "refused: --program: \"/app/$shop\" is not", false},
		{"kubernetes", with(inGo, "/app/shop"), image, "image: \"" + image + "\"\n              command: [\"/app/shop\"]\n              args:", false},
		{"kubernetes", with(inGo, "app/shop"), image, "refused: --program: app/shop is looked for in the image's working directory", false},
		{"cloudrun", Program{}, "", "# A placeholder: name your image", true},
		{"cloudrun", inGo, "", "refused: --image: the handlers are in this program", false},
		{"cloudrun", with(inGo, "/app/shop"), image, "image: \"" + image + "\"\n              command: [\"/app/shop\"]\n              args:", false},
		{"lambda", Program{}, "", `cp "$(command -v ebb)" function/bootstrap `, false},
		{"lambda", inGo, "", "CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -o function/bootstrap example.com/shop/cmd/shop ", true},
		{"lambda", Program{Handlers: true, Own: "shop", Package: "command-line-arguments"}, "", `cp "$(command -v shop)" function/bootstrap `, true},
		{"lambda", with(inGo, "shop"), "", `cp "$(command -v shop)" function/bootstrap `, false},
		{"lambda", with(inGo, "./dist/shop"), "", "cp ./dist/shop function/bootstrap ", false},
		{"lambda", inGo, image, "ImageUri: \"" + image + "\"\n", true},
		{"lambda", with(inGo, "/shop"), image, "refused: --program: a function starts the entry point of its image; leave it out", false},
		{"github", Program{}, "", `run: go install github.com/seed829e008e/ebb@latest # or`, false},
		{"github", inGo, "", `run: go build -o "$RUNNER_TEMP/jobs" example.com/shop/cmd/shop` + "\n", true},
		{"github", inGo, "", `run: "exec \"$RUNNER_TEMP/jobs\" run"`, true},
		{"github", Program{Handlers: true, Own: "shop", Package: "command-line-arguments"}, "", "refused: --program: the handlers are in this program, and ebb as it is published does not have them", false},
		{"github", Program{Handlers: true, Own: "shop"}, "", "refused: --program: the handlers are in this program", false},
		{"github", with(inGo, "./cmd/worker"), "", `run: go build -o "$RUNNER_TEMP/jobs" ./cmd/worker` + "\n", false},
		{"github", with(inGo, "example.com/other/v2@v2.1.0"), "", `run: "exec \"$(go env GOPATH)/bin\"/other run"`, false},
		{"github", with(inGo, "/usr/local/bin/shop"), "", "refused: --program: /usr/local/bin/shop is no Go package", false},
		{"github", with(inGo, "shop"), "", "refused: --program: shop is no Go package", false},
		{"github", with(inGo, "./shop@latest"), "", "refused: --program: ./shop@latest is no Go package", false},
		{"github", inGo, image, image + " run", true},
		{"github", with(inGo, "/app/shop"), image, "--entrypoint /app/shop " + image + " run", false},
	} {
		job := exampleJob(t)
		job.Name, job.Program, job.Image = "shop-jobs", test.program, test.image
		files, err := makers[test.platform](job)
		var got string
		for _, f := range files {
			got += f.Content
		}
		if err != nil {
			got = "refused: " + err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s %+v: want %q in\n%s", test.platform, test.program, test.want, got)
		}
		if stock := "ebb migrate"; err == nil && test.program.Handlers && strings.Contains(got, stock) {
			t.Errorf("%s %+v: %s has the tables of another version made", test.platform, test.program, stock)
		}
		if all := job.Assumed(test.platform); err == nil && (len(all) > 0) != test.assumes {
			t.Errorf("%s %+v assumes %q", test.platform, test.program, all)
		}
	}
}
