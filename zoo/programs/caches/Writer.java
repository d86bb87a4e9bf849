// Lines by Java: Writer HOW ENDING LINES FILE. HOW is file or print.
import java.io.*;
import java.nio.file.*;

class Writer {
    static int number = 0;

    static void lines(PrintStream out, int count) {
        for (int i = 0; i < count; i++) out.println(String.format("%06d %s", number++, "x".repeat(125)));
    }

    static void signal(String name) throws Exception {
        new ProcessBuilder("kill", "-" + name, String.valueOf(ProcessHandle.current().pid())).start().waitFor();
        Thread.sleep(10000);
    }

    public static void main(String[] words) throws Exception {
        String how = words[0], path = words[3];
        PrintStream out = how.equals("print") ? System.out : new PrintStream(new FileOutputStream(path), true);
        lines(out, Integer.parseInt(words[2]));
        switch (words[1]) {
            case "exit": System.exit(3);
            case "return": lines(out, 10); break;
            case "_exit": Runtime.getRuntime().halt(4);
            case "kill": signal("KILL"); break;
            case "run":
                new ProcessBuilder("sh", "-c", "wc -c < " + path + " >> counted").start().waitFor();
                lines(out, 10);
                break;
            case "renamed":
                if (how.equals("print")) System.exit(99);
                out.close();
                Files.move(Path.of(path), Path.of(path + ".new"));
                break;
            default: System.exit(99);
        }
    }
}
