# nginx on a socket in this folder, asked for files and through itself, told to read its configuration anew, ended by its number.
nginx=$(command -v nginx || echo /usr/sbin/nginx)
chmod 755 .
mkdir site temporary
seq 1 20000 > site/lines.txt
echo 'a page' > site/index.html
cat > nginx.conf << END
daemon off;
user nobody nogroup;
worker_processes 2;
pid $PWD/pid;
error_log $PWD/log;
events {
    worker_connections 64;
}
http {
    access_log $PWD/access combined;
    client_body_temp_path $PWD/temporary/body;
    proxy_temp_path $PWD/temporary/proxy;
    fastcgi_temp_path $PWD/temporary/fastcgi;
    uwsgi_temp_path $PWD/temporary/uwsgi;
    scgi_temp_path $PWD/temporary/scgi;
    default_type text/plain;
    gzip on;
    gzip_types *;
    gzip_http_version 1.0;
    proxy_cache_path $PWD/temporary/cache keys_zone=kept:1m;
    server {
        listen unix:$PWD/socket;
        root $PWD/site;
        location /through/ {
            proxy_pass http://unix:$PWD/socket:/;
            proxy_cache kept;
            proxy_cache_valid 1h;
        }
        location ~ ^/number/(?<number>[0-9]+)\$ {
            return 200 "number \$number\n";
        }
    }
}
END
# Without root it warns that it cannot become another user.
[ "$(id -u)" = 0 ] || sed -i '/^user /d' nginx.conf
"$nginx" -e log -p . -c "$PWD/nginx.conf" -t 2>&1
"$nginx" -e log -p . -c "$PWD/nginx.conf" &
server=$!
ask() {
    perl -MIO::Socket::UNIX -e '
        my ($path, $headers) = @ARGV;
        my $socket = IO::Socket::UNIX->new("socket") or exit 1;
        print $socket "GET $path HTTP/1.0\r\n$headers\r\n";
        $socket->flush;
        local $/;
        my ($head, $body) = split /\r\n\r\n/, <$socket>, 2;
        print STDERR $head =~ /^HTTP\S+ (\d+)/, "\n";
        print $body;' "$@"
}
tries=0
until ask / > /dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -gt 3000 ] || ! kill -0 "$server"; then
        cat log
        exit 9
    fi
done
for round in 1 2; do
    ask / 2>&1
    ask /nothing 2>&1 | head -n 1
    ask /lines.txt | cmp - site/lines.txt
    ask /through/lines.txt | cmp - site/lines.txt
    ask /lines.txt "Accept-Encoding: gzip
" | gzip -dc | cmp - site/lines.txt
    for number in 1 2 3 4 5 6 7 8 9 10; do
        ask "/number/$number" 2> /dev/null
    done
    kill -HUP "$server"
done
kill -QUIT "$server"
status=0
wait "$server" || status=$?
echo "the server ended with $status"
grep -c -e 'exited on signal' -e '\[alert\]' log || true
echo done
