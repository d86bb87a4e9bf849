# The same program under two garbage collectors with threads of their own.
if [ "$1" = once ]; then
    javac -d . Threads.java
    exit
fi
for collector in UseParallelGC UseG1GC; do
    status=0
    java -XX:+$collector -XX:ParallelGCThreads=3 -Xmx48m -cp . Threads || status=$?
    echo "it ended with $status"
done
echo done
