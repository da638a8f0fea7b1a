package carillon.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** What a developer sees if something is wrong. Each is one sentence that says what to do, and nothing hangs. */
@CarillonTest
@Isolated("A system property names the program.")
class FailureTest {
    @TempDir
    Path folder;

    @AfterEach
    void forgetProgram() { System.clearProperty("carillon"); }

    private static void fails(Executable body, String... parts) {
        String message = assertThrows(Throwable.class, body).getMessage();
        for (String part : parts) assertTrue(message.contains(part), message);
    }

    private static Carillon start(String... options) { return Carillon.start(new Carillon.Settings().options(options)); }

    /** Lets the system property carillon name a program with this content. */
    private void use(String content) throws IOException {
        Path program = Files.write(folder.resolve("carillon"), content.getBytes(StandardCharsets.ISO_8859_1));
        assertTrue(program.toFile().setExecutable(true));
        System.setProperty("carillon", program.toString());
    }

    @Test
    void aWaitShowsWhatCameInstead(APNs apns) throws Exception {
        new Backend(apns).send("00fc13adff785122", "{\"aps\":{\"alert\":\"Hello\"}}");
        Map<String, ?> match = Map.of("outcome", "delivered", "pushType", "voip", "payload", Map.of("aps", Map.of("alert", "Bye")));
        fails(() -> apns.await(1, match, Duration.ofMillis(100)), "0 requests matched", "within 0.1 s, instead of 1.",
                "400 BadDeviceToken, rejected", "pushType is \"alert\", not \"voip\"", "outcome is \"rejected\", not \"delivered\"",
                "payload is {\"aps\":{\"alert\":\"Hello\"}}, not {\"aps\":{\"alert\":\"Bye\"}}");
        fails(() -> apns.await(0, Map.of(), Duration.ZERO), "1 requests matched within 0.0 s, but none should");
    }

    @Test
    void aWaitWithoutAnyRequestSaysWhereToSend(APNs apns) {
        fails(() -> apns.await(1, Map.of(), Duration.ZERO), "The backend has sent nothing: it has to connect to https://");
    }

    @Test
    void aRefusalSaysWhy(APNs apns) {
        fails(() -> apns.await(Map.of("colour", "red")), "(POST /v1/requests/wait, 400, at /match/colour)");
    }

    @Test
    void aMissingProgram() {
        System.setProperty("carillon", "/nowhere/carillon");
        fails(Carillon::start, "CARILLON names /nowhere/carillon, which is not a program");
    }

    @Test
    void aProgramForAnotherMachine() throws IOException {
        use("\177ELF\2\1\1" + "\0".repeat(200));
        fails(Carillon::start, "cannot be started on this machine", "Install the program for this machine");
    }

    @Test
    void aProgramThatEndsAtOnce() throws IOException {
        use("#!/bin/sh\necho 'Error: the disk is full' >&2\nexit 3\n");
        fails(Carillon::start, "did not start: exit status 3. It said:\n  Error: the disk is full");
    }

    @Test
    void aProgramThatIsNeverReady() throws IOException {
        use("#!/bin/sh\nexec cat\n");
        Carillon.Settings settings = new Carillon.Settings().startTimeout(Duration.ofMillis(200));
        fails(() -> Carillon.start(settings), "was not ready within 200 ms: give it a longer start timeout");
    }

    @Test
    void aProgramThatClosesItsOutput() throws IOException {
        use("#!/bin/sh\nexec cat >/dev/null\n");
        fails(Carillon::start, "did not start: exit status 0");
    }

    @Test
    void aProgramThatIsSomethingElse() throws IOException {
        use("#!/bin/sh\necho Hello\n");
        fails(Carillon::start, "is not Carillon's program, or another version of it");
    }

    @Test
    void aPortInUse(Carillon carillon) {
        fails(() -> start("--management", carillon.management.place.getAuthority()), "did not start: exit status 1. It said:\n");
    }

    @Test
    void aServiceThatEndsDuringATest() {
        try (Carillon carillon = start()) {
            APNs apns = carillon.team();
            carillon.program().kill();
            fails(() -> apns.await(1, Map.of(), Duration.ofMinutes(10)), "has ended (signal 9): run the tests again");
        }
    }

    @Test
    void aServiceThatIsNotThere(Carillon carillon) {
        fails(() -> Carillon.attach("http://127.0.0.1:1", ""), "The Carillon at http://127.0.0.1:1 does not answer");
        fails(() -> Carillon.attach(carillon.management.url, "wrong"), "set CARILLON_MANAGEMENT_KEY to its key");
        fails(() -> Carillon.attach("localhost", ""), "set it to a URL such as http://localhost:2198");
    }

    @Test
    void aServiceThatRuns(Carillon carillon) {
        Map<String, String> variables = Map.of("CARILLON_PROVIDER_ADDRESS", "localhost:49153");
        try (Carillon attached = Carillon.attach(
                carillon.management.url, carillon.management.key, new Carillon.Settings(), variables)) {
            assertEquals("https://localhost:49153", attached.url());
            assertEquals(carillon.caPEM, attached.caPEM);
            Map<String, String> numbers = Map.of("CARILLON_PROVIDER_ADDRESS", "127.0.0.1:49153");
            try (Carillon other = Carillon.attach(
                    carillon.management.url.replace("127.0.0.1", "localhost"), carillon.management.key, new Carillon.Settings(),
                    numbers)) {
                assertEquals("https://127.0.0.1:49153", other.url());
            }
            try (APNs apns = attached.team()) {
                assertEquals(List.of(), apns.requests());
            }
        }
        // It was not started here, so it does not end here.
        carillon.team().close();
    }

    /** Starts a service, and is killed by the next test. */
    public static void main(String[] arguments) throws IOException {
        System.out.println(Carillon.start().program().pid());
        System.in.read();
    }

    @Test
    void theServiceEndsWithAProcessThatIsKilled() throws Exception {
        Process killed = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp", System.getProperty("java.class.path"),
                FailureTest.class.getName()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        long pid = Long.parseLong(killed.inputReader().readLine());
        killed.destroyForcibly().waitFor();
        var service = ProcessHandle.of(pid);
        if (service.isPresent()) service.get().onExit().get(1, TimeUnit.MINUTES);
    }
}
