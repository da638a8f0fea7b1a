package carillon.testing;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** The management API of one service. */
final class Management {
    /**
     * The longest times until the service answers: {@code usual} for a request that waits for nothing, and {@code brief} beyond
     * the time of a wait, and for each request after one that was not answered.
     */
    record Limits(Duration usual, Duration brief) {
        static final Limits USUAL = new Limits(Duration.ofSeconds(30), Duration.ofSeconds(5));
    }

    // It keeps its connections: a service counts how often an address connects.
    private static final HttpClient CLIENT =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Limits.USUAL.usual()).build();
    final String url;
    final String key;
    final URI place;
    private final Supplier<String> ending;
    private final Limits limits;
    private volatile boolean isSilent;

    /** @param ending a sentence about the end of a service that was started here; null if it was not started here. */
    Management(String url, String key, Supplier<String> ending) { this(url, key, ending, Limits.USUAL); }

    Management(String url, String key, Supplier<String> ending, Limits limits) {
        this.limits = limits;
        // A secret of CI often ends with a newline.
        this.url = url.strip().replaceAll("/+$", "");
        this.key = key == null ? "" : key.strip();
        this.ending = ending;
        URI place = null;
        try {
            place = URI.create(this.url);
        } catch (IllegalArgumentException e) {
            // Refused below.
        }
        if (place == null || place.getHost() == null || place.getPort() > 65535
                || !Set.of("http", "https").contains(String.valueOf(place.getScheme()))) {
            throw new CarillonException(
                    "CARILLON_MANAGEMENT_URL is " + this.url + ": set it to a URL such as http://localhost:2198.");
        }
        if (!this.key.matches("[!-~]*")) {
            throw new CarillonException(
                    "CARILLON_MANAGEMENT_KEY has a character that no key has, such as a space: set it to the key alone.");
        }
        this.place = place;
    }

    record Answer(int status, Object value) {
        Map<?, ?> object() {
            if (value instanceof Map<?, ?> object) return object;
            throw new CarillonException("The service's answer cannot be read: install the same version of both.");
        }
    }

    /** Sends a request. The statuses in {@code beside} are answers, and no errors. */
    Answer ask(String method, String path, Object body, Integer... beside) {
        return ask(method, path, body, isSilent ? limits.brief() : limits.usual(), Set.of(beside));
    }

    /** Sends a request to which the service may wait for a time. The status 408 is an answer, and no error. */
    Answer wait(Duration time, String path, Object body) {
        return ask("POST", path, body, time.plus(limits.brief()), Set.of(408));
    }

    private Answer ask(String method, String path, Object body, Duration timeout, Set<Integer> beside) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).timeout(timeout);
        if (!key.isEmpty()) request.header("Authorization", "Bearer " + key);
        if (body != null) request.header("Content-Type", "application/json");
        request.method(method, body == null
                ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(Json.write(body)));
        HttpResponse<String> answer;
        try {
            answer = send(request.build());
            isSilent = false;
        } catch (IOException e) {
            String ended = ending == null ? null : ending.get();
            throw new CarillonException(ended != null ? ended : failure(e, timeout));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CarillonException("The test was interrupted while it waited for Carillon.");
        }
        int status = answer.statusCode();
        Object value;
        try {
            value = answer.body().isEmpty() ? null : Json.read(answer.body());
        } catch (IllegalArgumentException e) {
            throw stranger(method, path, status);
        }
        if (status / 100 == 2 || beside.contains(status)) return new Answer(status, value);
        if (status == 401) {
            String cause = key.isEmpty()
                    ? "needs a key, and CARILLON_MANAGEMENT_KEY is empty or not set" : "refuses the key";
            throw new CarillonException(
                    "The Carillon at " + url + " " + cause + ": set CARILLON_MANAGEMENT_KEY to its key.", status);
        }
        Object detail = null;
        Object pointer = null;
        if (value instanceof Map<?, ?> problem) {
            detail = problem.get("detail");
            pointer = problem.get("pointer");
        }
        if (detail == null) throw stranger(method, path, status);
        throw new CarillonException(detail + " (" + method + " " + path + ", " + status
                + (pointer == null ? "" : ", at " + pointer) + ")", status);
    }

    private CarillonException stranger(String method, String path, int status) {
        return new CarillonException(url + " is not Carillon's management API (" + method + " " + path + " got " + status
                + "): check CARILLON_MANAGEMENT_URL.", status);
    }

    /** Where the service is, and what to trust, from the service itself. */
    Map<?, ?> describe() {
        String path = "/v1/fixtures";
        // A fixture without teams makes nothing. Its answer has the addresses and the authority.
        Answer answer = ask("POST", path, Map.of("teams", List.of()));
        if (!(answer.value() instanceof Map<?, ?> made && made.get("service") instanceof Map<?, ?> service
                && service.get("caPEM") instanceof String)) {
            throw stranger("POST", path, answer.status());
        }
        if (!service.containsKey("journal")) {
            throw new CarillonException("The Carillon at " + url + " is older than this library: start Carillon " + Program.OLDEST
                    + " or newer there.");
        }
        return service;
    }

    private static HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
        try {
            return CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (ConnectException | HttpTimeoutException e) {
            throw e;
        } catch (IOException e) {
            // The service closes a connection only while it is idle, so it has not seen a request on a kept connection.
            return CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
        }
    }

    private String failure(IOException e, Duration timeout) {
        String name = ending == null ? "The Carillon at " + url : "The Carillon of this test run";
        String advice = ending == null
                ? "check that it runs, and that CARILLON_MANAGEMENT_URL is its address" : "it is stopped or overloaded";
        String cause = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        if (e instanceof HttpTimeoutException) {
            isSilent = true;
            cause = "no answer within " + timeout.toMillis() / 1000.0 + " s";
        } else if (!(e instanceof ConnectException)) {
            String check = ending == null ? "check that CARILLON_MANAGEMENT_URL has the port of the management API; " : "";
            return name + " closed the connection before its answer: " + check
                    + "if its log names a limit, such as management-connections, raise it.";
        }
        return name + " does not answer (" + cause + "): " + advice + ".";
    }
}
