# apache with PHP in it, on a free port of loopback, asked for a script and for a file, ended by its number.
php=$(ls /usr/lib/apache2/modules/libphp*.so | head -n 1)
port=$(php -r '$s = stream_socket_server("tcp://127.0.0.1:0"); echo explode(":", stream_socket_get_name($s, false))[1];')
chmod 755 .
mkdir site
cp program.php site
seq 1 20000 > site/lines.txt
export PWD port php
apache2=$(command -v apache2 || echo /usr/sbin/apache2)
set -- "$apache2" -d . -f "$PWD/apache.conf" -c 'StartServers 2' -c 'MaxRequestsPerChild 5'
"$@" -t 2>&1
# It ends its whole process group, so it gets one of its own.
setsid "$@" -DFOREGROUND &
server=$!
ask() {
    php -r 'echo @file_get_contents($argv[1]) ?: exit(1);' "http://127.0.0.1:$port/$1"
}
tries=0
until ask lines.txt > lines; do
    tries=$((tries + 1))
    if [ "$tries" -gt 300 ]; then
        cat log
        kill "$server"
        exit 9
    fi
done
cmp lines site/lines.txt
for request in 1 2 3 4 5 6 7 8 9 10 11 12; do
    ask program.php | tail -n 1
done
ask program.php
kill "$server"
status=0
wait "$server" || status=$?
echo "the server ended with $status"
grep -c -e 'exit signal' -e 'core dump' log || true
echo done
