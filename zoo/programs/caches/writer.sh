# Lines by a shell: writer.sh HOW ENDING LINES FILE. HOW is descriptor (3), redirected (opened for each line) or print.
how=$1 ending=$2 count=$3 path=$4 number=0
# A command substitution would be a child, which has all descriptors, too.
filler=00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000

lines() {
    most=$((number + $1))
    while [ "$number" -lt "$most" ]; do
        case $how in
        descriptor) printf '%06d %s\n' "$number" "$filler" >&3 ;;
        redirected) printf '%06d %s\n' "$number" "$filler" >>"$path" ;;
        *) printf '%06d %s\n' "$number" "$filler" ;;
        esac
        number=$((number + 1))
    done
}

[ "$how" = descriptor ] && exec 3>"$path"
lines "$count"
case $ending in
exit) exit 3 ;;
abort) kill -ABRT $$ ;;
kill) kill -KILL $$ ;;
segv) kill -SEGV $$ ;;
exec) exec sh -c 'echo from exec; exit 6' ;;
fork)
    (number=500000; lines 10)
    lines 10
    (number=600000; lines 10) &
    wait
    lines 10
    ;;
run)
    wc -c <"$path" >>counted
    lines 10
    wc -c <"$path" >>counted
    ;;
renamed)
    mv "$path" "$path.new"
    lines 10
    ;;
trap)
    trap 'lines 5; exit 7' TERM
    kill -TERM $$
    ;;
*) exit 99 ;;
esac
