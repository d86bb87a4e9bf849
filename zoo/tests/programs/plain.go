// Goroutines that hand numbers on through channels and under mutexes; the sums are always the same. Without C.
package main

import (
	"os"
	"runtime"
	"strconv"
	"sync"
)

func main() {
	runtime.GOMAXPROCS(4)
	var mutex sync.Mutex
	var makers, takers sync.WaitGroup
	numbers := make(chan int, 16)
	count, total := 0, 0
	for which := 0; which < 4; which++ {
		makers.Add(1)
		takers.Add(1)
		go func(which int) {
			defer makers.Done()
			for n := 0; n < 20000; n++ {
				numbers <- n*4 + which
			}
		}(which)
		go func() {
			defer takers.Done()
			for number := range numbers {
				garbage := make([]int, 64+number%64)
				mutex.Lock()
				count++
				total += number + garbage[0]
				mutex.Unlock()
			}
		}()
	}
	makers.Wait()
	close(numbers)
	takers.Wait()
	os.Stdout.WriteString("taken " + strconv.Itoa(count) + ", together " + strconv.Itoa(total) + "\n")
	os.Exit(5)
}
