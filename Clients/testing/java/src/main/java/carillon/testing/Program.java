package carillon.testing;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A running {@code carillon serve}, which ends with this process, also if this process is killed. */
final class Program implements AutoCloseable {
    private final Process process;
    private final RandomAccessFile log;
    final Map<?, ?> ready;

    Program(List<String> options, Duration timeout) {
        String path = find();
        List<String> command = new ArrayList<>(List.of(path, "serve", "--store", "memory", "--ports", "ephemeral", "--json",
                "--until-input-ends", "--log-level", "warning"));
        command.addAll(options);
        if (isForOtherMachine(path)) throw cannotStart(path, "it is a program for another machine");
        ProcessBuilder builder = new ProcessBuilder(command);
        // The service of a test has the settings that the test names, and no others.
        builder.environment().keySet().removeIf(name -> name.startsWith("CARILLON"));
        // Close the connections that clients have left open, instead of waiting for them.
        builder.environment().put("CARILLON_LIMIT_SHUTDOWN_TIMEOUT", "1");
        try {
            // A file without a name, because nobody reads a pipe while the tests run.
            Path file = Files.createTempFile("carillon-", ".log");
            try {
                log = new RandomAccessFile(file.toFile(), "r");
                // The service ends when its standard input ends: the system closes the pipe with this process.
                process = builder.redirectError(file.toFile()).start();
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw cannotStart(path, cause(e));
        }
        try {
            ready = readReady(path, timeout);
        } catch (RuntimeException e) {
            process.destroyForcibly();
            close();
            throw e;
        }
    }

    /** The oldest Carillon that this library works with. */
    static final String OLDEST = "0.2.0";
    private static final Pattern VERSION = Pattern.compile("(\\d+)\\.(\\d+)\\.(\\d+)(-\\S+)?( \\(.*\\))?\\s*");

    /** The version of a program; empty if it is not Carillon's. */
    private static Optional<String> version(String path) {
        try {
            ProcessBuilder builder = new ProcessBuilder(path, "--version").redirectError(ProcessBuilder.Redirect.DISCARD);
            builder.environment().keySet().removeIf(name -> name.startsWith("CARILLON"));
            Process asked = builder.start();
            try {
                asked.getOutputStream().close();
                // It may print for ever, and a child of it may keep its output open.
                if (!asked.waitFor(5, TimeUnit.SECONDS)) return Optional.empty();
                byte[] said = new byte[Math.min(200, asked.getInputStream().available())];
                String text = new String(said, 0, Math.max(0, asked.getInputStream().read(said)), StandardCharsets.UTF_8);
                Matcher parts = VERSION.matcher(text);
                return parts.matches() ? Optional.of(text.strip()) : Optional.empty();
            } finally {
                asked.destroyForcibly();
            }
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    private static boolean isOld(String version) {
        Matcher has = VERSION.matcher(version);
        Matcher needs = VERSION.matcher(OLDEST);
        if (!has.matches() || !needs.matches()) return false;
        for (int place = 1; place <= 3; place++) {
            int difference = Integer.compare(Integer.parseInt(has.group(place)), Integer.parseInt(needs.group(place)));
            if (difference != 0) return difference < 0;
        }
        return false;
    }

    private static final Pattern LIBRARY = Pattern.compile("error while loading shared libraries: ([^:\\s]+)");
    private static final Pattern GLIBC = Pattern.compile("GLIBC_(\\d{1,3})\\.(\\d{1,3})");

    /** What this system lacks, and what to do, if the system's loader says that it cannot load a program. */
    private static Optional<String> missing(String said) {
        Matcher library = LIBRARY.matcher(said);
        if (library.find() && !said.contains("GLIBC")) {
            return Optional.of("the library " + library.group(1)
                    + ": install it, or take the program of a release's archive, which has its libraries inside");
        }
        return GLIBC.matcher(said).results()
                .map(found -> new int[] {Integer.parseInt(found.group(1)), Integer.parseInt(found.group(2))})
                .max(Comparator.<int[]>comparingInt(version -> version[0]).thenComparingInt(version -> version[1]))
                .map(version -> "glibc " + version[0] + "." + version[1]
                        + " or newer: take a newer system, such as the image of Debian 12 or Ubuntu 22.04");
    }

    /** The error of a program that is not a service; {@code happened} is what it did. */
    private CarillonException notStarted(String path, String happened) {
        Optional<String> missing = missing(said());
        if (missing.isPresent()) {
            return new CarillonException(
                    path + " cannot be started, because this system lacks " + missing.get() + "." + said());
        }
        boolean isNamed = System.getenv("CARILLON") != null || System.getProperty("carillon") != null;
        String advice = isNamed
                ? "correct the variable CARILLON, or remove it" : "name Carillon's in the variable CARILLON";
        Optional<String> version = version(path);
        if (version.isEmpty()) {
            return new CarillonException(path + " is not Carillon's program, and " + happened + ": " + advice + "." + said());
        }
        if (isOld(version.get())) {
            return new CarillonException(path + " is Carillon " + version.get() + ", and this library needs " + OLDEST
                    + " or newer: " + advice + "." + said());
        }
        return new CarillonException(path + " did not start: it " + happened + "." + said());
    }

    private static CarillonException cannotStart(String path, String cause) {
        return new CarillonException(path + " cannot be started on this machine (" + System.getProperty("os.arch") + "): " + cause
                + ". Install the program for this machine, or name another one in the variable CARILLON.");
    }

    /** Whether it is a program of Linux for another processor. Java would let a shell try to read it. */
    private static boolean isForOtherMachine(String path) {
        // The number of the processor in an ELF header.
        Integer machine = Map.of("amd64", 62, "aarch64", 183).get(System.getProperty("os.arch"));
        try (InputStream file = Files.newInputStream(Path.of(path))) {
            byte[] header = file.readNBytes(20);
            return machine != null && header.length == 20 && header[0] == 0x7f && header[1] == 'E' && header[2] == 'L'
                    && header[3] == 'F' && (header[18] & 0xff | (header[19] & 0xff) << 8) != machine;
        } catch (IOException e) {
            return false;  // The start says more.
        }
    }

    private static String cause(IOException e) {
        Throwable deepest = e;
        while (deepest.getCause() != null) deepest = deepest.getCause();
        return deepest.getMessage();
    }

    private static String find() {
        String named = System.getenv("CARILLON");
        if (System.getProperty("carillon") != null) named = System.getProperty("carillon");
        if (named != null && !named.isEmpty()) {
            String path = onPath(named);
            if (path == null) {
                throw new CarillonException(
                        "CARILLON names " + named + ", which is not a program: correct the variable, or remove it.");
            }
            return path;
        }
        String path = onPath("carillon");
        if (path == null) {
            throw new CarillonException("There is no program carillon: put it on the path, or name it in the variable CARILLON; "
                    + "or set CARILLON_MANAGEMENT_URL to use a service that runs already.");
        }
        return path;
    }

    private static String onPath(String name) {
        List<String> places = name.contains("/")
                ? List.of(name)
                : Arrays.stream(System.getenv("PATH").split(File.pathSeparator)).map(folder -> folder + "/" + name).toList();
        return places.stream().filter(place -> new File(place).isFile() && new File(place).canExecute()).findFirst().orElse(null);
    }

    /** The ready line has some thousand characters. A program that prints more is another one. */
    private static final int LONGEST_LINE = 1 << 20;

    /** A line, which may have no end if it is too long; null if the program ends before. */
    private static String readLine(BufferedReader output) throws IOException {
        StringBuilder line = new StringBuilder();
        while (line.length() <= LONGEST_LINE) {
            int character = output.read();
            if (character < 0) return null;
            if (character == '\n') break;
            line.append((char) character);
        }
        return line.toString();
    }

    private Map<?, ?> readReady(String path, Duration timeout) {
        BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line;
        try {
            line = CompletableFuture.supplyAsync(() -> {
                try {
                    return readLine(output);
                } catch (IOException e) {
                    return null;
                }
            }, task -> {
                Thread thread = new Thread(task, "carillon");
                thread.setDaemon(true);
                thread.start();
            }).get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw notStarted(
                    path, "was not ready within " + timeout.toMillis() + " ms; if it is slow, give it a longer start timeout");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CarillonException("The start of " + path + " was interrupted.");
        } catch (ExecutionException e) {
            throw new CarillonException("The output of " + path + " cannot be read: " + e.getCause());
        }
        if (line == null) {
            end(Duration.ofSeconds(15));
            throw notStarted(path, "ended (" + end() + ")");
        }
        try {
            if (Json.read(line) instanceof Map<?, ?> ready && "ready".equals(ready.get("event"))) return ready;
        } catch (IllegalArgumentException e) {
            // It is not JSON.
        }
        throw notStarted(path, "printed " + Json.write(line.substring(0, Math.min(200, line.length()))));
    }

    private String end() {
        int status = process.exitValue();
        return status > 128 ? "signal " + (status - 128) : "exit status " + status;
    }

    /** A sentence about the end of the program; null if it runs. */
    String ending() {
        try {
            // A connection may break before the end of the process is reported.
            if (!process.waitFor(1, TimeUnit.SECONDS)) return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
        return "The Carillon of this test run has ended (" + end() + "): run the tests again." + said();
    }

    long pid() { return process.pid(); }

    /** Ends the program at once, as if it had failed. */
    void kill() { process.destroyForcibly(); }

    /** The last lines of the log, below a text about it. */
    private String said() {
        try {
            long size = log.length();
            byte[] bytes = new byte[(int) Math.min(size, 2000)];
            log.seek(size - bytes.length);
            log.readFully(bytes);
            String text = new String(bytes, StandardCharsets.UTF_8).strip();
            if (text.isEmpty()) return "";
            List<String> lines = text.lines().toList();
            return " It said:\n  " + String.join("\n  ", lines.subList(Math.max(0, lines.size() - 8), lines.size()));
        } catch (IOException e) {
            return "";
        }
    }

    /** Ends the program, at once if it has not ended after the limit. */
    private void end(Duration limit) {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            // It has ended.
        }
        try {
            if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) process.destroyForcibly().waitFor();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        end(Duration.ofSeconds(15));
        try {
            log.close();
        } catch (IOException e) {
            // Nothing was written to this file here.
        }
    }
}
