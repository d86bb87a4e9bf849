# program.sh [REQUESTS]: a server on a socket in this folder, loaded with fixed counts, asked for its contents, ended by
# its number.
requests=${1:-20000}
# Debian's redis-tools carries the server as redis-check-rdb; its name selects the function.
ln -s "$(command -v redis-server || command -v redis-check-rdb)" redis-server
./redis-server --port 0 --unixsocket socket --save '' --appendonly no --logfile log --io-threads 2 &
server=$!
tries=0
until redis-cli -s socket ping > /dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -gt 5000 ]; then
        cat log
        kill "$server"
        exit 9
    fi
done
redis-benchmark -s socket -n "$requests" -c 20 -P 4 -q -t set,get,incr,lpush,rpush,lpop,sadd,hset,zadd,lrange_100 > benchmark
grep -c 'requests per second' benchmark
seq 1 "$requests" | sed 's/.*/SET number:& value-&-&-&-&/' | redis-cli -s socket | sort | uniq -c
redis-cli -s socket eval 'local t = {} for n = 1, ARGV[1] / 4 do t[n] = redis.call("get", "number:" .. n) end return #table.concat(t)' 0 "$requests"
redis-cli -s socket dbsize
redis-cli -s socket flushall
redis-cli -s socket dbsize
kill "$server"
status=0
wait "$server" || status=$?
echo "the server ended with $status"
echo done
