# A server on a socket in this folder, loaded by four threads, asked for its contents, ended by its number.
for folder in /usr/lib/postgresql/*/bin; do PATH=$folder:$PATH; done
export PGHOST="$PWD" PGUSER=zoo PGDATABASE=postgres
start() {
    postgres -D "$PWD/data" -k "$PWD" -c listen_addresses= -c fsync=off -c shared_buffers=16MB \
        -c dynamic_shared_memory_type=mmap > log 2>&1 &
    server=$!
    tries=0
    until psql --no-psqlrc --command='select 1' > /dev/null 2>&1; do
        tries=$((tries + 1))
        if [ "$tries" -gt 3000 ] || ! kill -0 "$server"; then
            cat log
            exit 9
        fi
    done
}
stop() {
    # INT: connected clients are disconnected.
    kill -INT "$server"
    status=0
    wait "$server" || status=$?
    echo "the server ended with $status"
}
if [ "$1" = once ]; then
    initdb -D "$PWD/data" -U zoo -A trust --no-locale -E UTF8 --no-sync > installed 2>&1 || { cat installed; exit 8; }
    start
    pgbench -i -q -s 1 > prepared 2>&1 || { cat prepared; exit 7; }
    stop
    exit
fi
start
pgbench -n -c 4 -j 4 -t 150 --random-seed=7 > loaded 2> errors || { cat loaded errors; exit 6; }
sed -n 's/^number of transactions actually processed: //p; s/^number of failed transactions: //p' loaded
psql --no-psqlrc --quiet --tuples-only --no-align <<'SQL'
select 'sums', (select sum(abalance) from pgbench_accounts), (select sum(bbalance) from pgbench_branches),
    (select sum(tbalance) from pgbench_tellers), sum(delta), count(*) from pgbench_history;
set max_parallel_workers_per_gather = 2;
set min_parallel_table_scan_size = 0;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
select 'in parallel', count(*), sum(aid::bigint * bid) from pgbench_accounts;
SQL
stop
echo done
