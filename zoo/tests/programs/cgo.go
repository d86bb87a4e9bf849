// Goroutines that call C, where a mutex of POSIX is held while its holder waits; the sums are always the same.
package main

/*
#cgo LDFLAGS: -pthread
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long first, second;

static int add(long number) {
    pthread_mutex_lock(&mutex);
    int was_wrong = first != second;
    first += number;
    if (number % 16 == 0) sched_yield();
    second += number;
    pthread_mutex_unlock(&mutex);
    void *volatile block = malloc((size_t)(number % 4096));
    free(block);
    return was_wrong;
}

static long sum(void) { return first == second ? first : -1; }
*/
import "C"

import (
	"os"
	"strconv"
	"sync"
)

func main() {
	var group sync.WaitGroup
	for which := 0; which < 6; which++ {
		group.Add(1)
		go func(which int) {
			defer group.Done()
			for n := 0; n < 5000; n++ {
				if C.add(C.long(n*6+which)) != 0 {
					panic("two at once")
				}
			}
		}(which)
	}
	group.Wait()
	os.Stdout.WriteString("together " + strconv.FormatInt(int64(C.sum()), 10) + "\n")
	os.Exit(5)
}
