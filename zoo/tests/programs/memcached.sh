# A server on a socket in this folder, loaded by as many connections as it has threads, ended by its number.
load=$1
memcached -u "$(id -un)" -s socket -t 4 -m 32 &
server=$!
"$load" socket 8 20000
kill "$server"
status=0
wait "$server" || status=$?
echo "the server ended with $status"
echo done
