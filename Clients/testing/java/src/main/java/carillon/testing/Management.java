package carillon.testing;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** The management API of one service. */
final class Management {
    static final Duration LIMIT = Duration.ofSeconds(30);
    private static final HttpClient CLIENT =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(LIMIT).build();
    final String url;
    final String key;
    final URI place;
    private final Supplier<String> ending;

    /** @param ending says that the service has ended, if it was started here and has ended; otherwise null. */
    Management(String url, String key, Supplier<String> ending) {
        this.url = url.replaceAll("/+$", "");
        this.key = key;
        this.ending = ending;
        URI place = null;
        try {
            place = URI.create(this.url);
        } catch (IllegalArgumentException e) {
            // Refused below.
        }
        if (place == null || place.getHost() == null || !Set.of("http", "https").contains(String.valueOf(place.getScheme()))) {
            throw new CarillonException(
                    "CARILLON_MANAGEMENT_URL is " + url + ": set it to a URL such as http://localhost:2198.");
        }
        this.place = place;
    }

    record Answer(int status, Object value) {
        Map<?, ?> object() {
            if (value instanceof Map<?, ?> object) return object;
            throw new CarillonException("The service's answer cannot be read: install the same version of both.");
        }
    }

    Answer ask(String method, String path, Object body) { return ask(method, path, body, LIMIT); }

    /** Sends a request. The statuses 404 and 408 are answers, and no errors, if they are in {@code beside}. */
    Answer ask(String method, String path, Object body, Duration timeout, Integer... beside) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).timeout(timeout);
        if (key != null && !key.isEmpty()) request.header("Authorization", "Bearer " + key);
        if (body != null) request.header("Content-Type", "application/json");
        request.method(method, body == null
                ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(Json.write(body)));
        HttpResponse<String> answer;
        try {
            answer = CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            String ended = ending.get();
            String cause = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
            throw new CarillonException(ended != null ? ended : "The Carillon at " + url + " does not answer (" + cause
                    + "): check that it runs, and that CARILLON_MANAGEMENT_URL is its address.");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CarillonException("The test was interrupted while it waited for Carillon.");
        }
        int status = answer.statusCode();
        Object value;
        try {
            value = answer.body().isEmpty() ? null : Json.read(answer.body());
        } catch (IllegalArgumentException e) {
            throw new CarillonException(url + " is not Carillon's management API (" + method + " " + path + " got " + status
                    + "): check CARILLON_MANAGEMENT_URL.", status);
        }
        if (status / 100 == 2 || Set.of(beside).contains(status)) return new Answer(status, value);
        if (status == 401) {
            throw new CarillonException(
                    "The Carillon at " + url + " refuses the key: set CARILLON_MANAGEMENT_KEY to its key.", status);
        }
        Object detail = null;
        Object pointer = null;
        if (value instanceof Map<?, ?> problem) {
            detail = problem.get("detail");
            pointer = problem.get("pointer");
        }
        throw new CarillonException(detail + " (" + method + " " + path + ", " + status
                + (pointer == null ? "" : ", at " + pointer) + ")", status);
    }
}
