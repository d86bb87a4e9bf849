# Objects, hashes, strings, regular expressions, threads, fibers, compaction of the heap, a child by fork and one by a shell.
require 'json'
require 'digest'
require 'set'
require 'zlib'
require 'stringio'

words = 60_000.times.map { |n| "word-#{(n * 7919) % 60_013}" }
puts Digest::SHA256.hexdigest(words.sort.join(','))
index = Hash.new { |hash, key| hash[key] = [] }
words.each { |word| index[word.size] << word }
puts index.transform_values(&:size).sort.inspect
puts words.each_slice(1000).map { |slice| slice.grep(/-(\d)\d*\1$/).size }.sum

text = JSON.generate(words.first(5_000).map.with_index { |word, n| { 'word' => word, 'number' => n, 'half' => n / 2.0 } })
again = JSON.parse(text)
puts again.sum { |entry| entry['half'] }
File.write('out.json', text)

packed = Zlib::Deflate.deflate(text, 9)
puts [packed.bytesize, Zlib::Inflate.inflate(packed) == text].inspect

queue = Queue.new
results = Queue.new
threads = 4.times.map do
  Thread.new do
    while (number = queue.pop) != :end
      results << (1..number).reduce(:lcm).to_s.size
    end
  end
end
200.times { |number| queue << number + 1 }
4.times { queue << :end }
threads.each(&:join)
puts results.size, Array.new(results.size) { results.pop }.sum

fibers = 500.times.map { |n| Fiber.new { Fiber.yield('x' * n); n } }
puts fibers.sum { |fiber| fiber.resume.size }, fibers.sum(&:resume)

20.times { Array.new(20_000) { |n| 'y' * (n % 200) } }
GC.start
GC.compact if GC.respond_to?(:compact)
puts Set.new(words).size

reader, writer = IO.pipe
child = fork do
  reader.close
  writer.puts words.map(&:hash).uniq.size
  exit! 7
end
writer.close
puts reader.read
Process.wait(child)
puts $?.exitstatus
puts `echo "a shell"; exit 5`, $?.exitstatus
system('ruby', '-e', 'abort "a child"')
puts $?.exitstatus
begin
  def deeper(n) = deeper(n + 1)
  deeper(0)
rescue SystemStackError
  puts 'too deep'
end
puts 'done'
