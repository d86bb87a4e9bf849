// Lines by node: writer.js HOW ENDING LINES FILE. HOW is file or print.
const fs = require("fs");
const { execSync } = require("child_process");
const [how, ending, count, path] = process.argv.slice(2);
let number = 0;
let out = how === "print" ? 1 : fs.openSync(path, "w");
function lines(count) {
    for (let i = 0; i < count; i++) {
        fs.writeSync(out, (String(number++).padStart(6, "0") + " ").padEnd(132, "x") + "\n");
    }
}
lines(Number(count));
if (ending === "exit") process.exit(3);
else if (ending === "return") lines(10);
else if (ending === "abort") process.abort();
else if (ending === "kill") process.kill(process.pid, "SIGKILL");
else if (ending === "segv") process.kill(process.pid, "SIGSEGV");
else if (ending === "run") {
    fs.writeFileSync("counted", execSync(`wc -c < ${path}`));
    lines(10);
} else if (ending === "reopened" && how !== "print") {
    fs.closeSync(out);
    out = fs.openSync(path, "a");
    lines(10);
} else if (ending === "renamed" && how !== "print") {
    fs.closeSync(out);
    fs.renameSync(path, path + ".new");
} else if (ending === "read-back") {
    fs.writeFileSync("seen", `${fs.statSync(path).size} ${fs.readFileSync(path).length}\n`);
    lines(10);
} else process.exit(99);
