# A server of PHP on a socket in this folder, asked by a client of its protocol, ended by its number.
fpm=$(command -v php-fpm || ls /usr/sbin/php-fpm* | head -n 1)
cat > fpm.conf << END
[global]
error_log = $PWD/log
daemonize = no
[www]
listen = $PWD/socket
user = nobody
group = nogroup
listen.owner = $(id -un)
pm = static
pm.max_children = 2
pm.max_requests = 5
END
chmod 755 .
"$fpm" -n -y fpm.conf -t 2> test.log
"$fpm" -F -y fpm.conf 2> /dev/null &
server=$!
tries=0
until php fastcgi.php program.php > answer 2> /dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -gt 300 ]; then
        cat log
        kill "$server"
        exit 9
    fi
done
for request in 1 2 3 4 5 6 7 8 9 10 11 12; do
    php fastcgi.php program.php | tail -n 1
done
cat answer
kill -QUIT "$server"
status=0
wait "$server" || status=$?
echo "the server ended with $status"
echo done
