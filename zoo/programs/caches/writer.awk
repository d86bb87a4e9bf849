# Lines by awk: -v how=HOW -v ending=ENDING -v count=LINES -v path=FILE -v me=PID. HOW is file or print.
function lines(count,    text) {
    for (; count > 0; count--) {
        text = sprintf("%06d ", number++)
        while (length(text) < 132) text = text "x"
        if (how == "file") { print text > path; fflush(path) }
        else { print text; fflush() }
    }
}
BEGIN {
    lines(count)
    if (ending == "exit") exit 3
    else if (ending == "kill") system("kill -9 " me)
    else if (ending == "abort") system("kill -ABRT " me)
    else if (ending == "segv") system("kill -SEGV " me)
    else if (ending == "run") { system("wc -c < " path " >> counted"); lines(10) }
    else if (ending == "renamed" && how == "file") { close(path); system("mv " path " " path ".new") }
    else exit 99
}
