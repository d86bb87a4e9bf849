# Two programs, one of them linked with the C library, and their exit status.
if [ "$1" = once ]; then
    # Nothing is fetched, and only files that later tests may reuse are kept.
    export GOCACHE="$2" GOPATH="$PWD/path" GOPROXY=off GOTOOLCHAIN=local GOFLAGS= GO111MODULE=auto
    CGO_ENABLED=0 go build -o plain plain.go
    CGO_ENABLED=1 go build -o cgo cgo.go
    exit
fi
for program in ./plain ./cgo; do
    status=0
    $program || status=$?
    echo "$program ended with $status"
done
echo done
