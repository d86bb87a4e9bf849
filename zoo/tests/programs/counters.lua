-- Threads count up the same few rows and make an entry for each time: what is counted is what was entered.
function thread_init()
   driver = sysbench.sql.driver()
   connection = driver:connect()
end

function event()
   connection:query("begin")
   connection:query("update counters set n = n + 1 where id = " .. sysbench.rand.uniform(1, 4))
   connection:query("insert into entries (thread) values (" .. sysbench.tid .. ")")
   connection:query("commit")
end

function thread_done()
   connection:disconnect()
end
