-- What wrk asks the server for: three tables of 0 to 190 rows, then JSON, in turns that are the same each time.
local at = 0
local bodies = {}
for size = 1, 8 do
    local parts = {}
    for number = 1, size * 6 do
        parts[number] = string.format('"name %d": [%d, %d.5, "text %d"]', number * 7919 % 1000, number, size, number)
    end
    bodies[size] = "{" .. table.concat(parts, ", ") .. "}"
end

function request()
    at = at + 1
    if at % 4 == 0 then
        return wrk.format("POST", "/json", nil, bodies[at / 4 % 8 + 1])
    end
    return wrk.format("GET", "/table?rows=" .. at * 10 % 200)
end
