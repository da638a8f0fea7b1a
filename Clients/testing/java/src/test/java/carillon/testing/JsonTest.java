package carillon.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@CarillonTest
class JsonTest {
    @Test
    void readsWhatItWrites() {
        List<Object> values = new ArrayList<>(List.of(1L, -2.5, true, "a \"quoted\"\n\u0001 text é", List.of(), Map.of()));
        values.add(null);
        Map<String, Object> all = Map.of("list", values, "object", Map.of("a", Map.of("b", "c")));
        assertEquals(all, Json.read(Json.write(all)));
        assertEquals(Map.of("é", "/\u00e9"), Json.read(" { \"\\u00e9\" : \"\\/\\u00E9\" } "));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[1", "[1,]x", "{\"a\"}", "{\"a\":1,}", "\"a", "\"\\u00", "\"\\uzzzz\"", "\"\\u+fff\"", "01", "tru", "1 2", "-", "nothing"})
    void refusesWhatIsNoJson(String text) { assertThrows(IllegalArgumentException.class, () -> Json.read(text)); }

    @Test
    void noNumberBecomesAnotherOne() {
        String text = "[1234567890123456789, 18446744073709551615, 1e400, 123.456e-789, 0.1234567890123456789, 1.50, 1E2]";
        List<Object> expected = List.of(
            1234567890123456789L, new BigInteger("18446744073709551615"), new BigDecimal("1e400"), new BigDecimal("123.456e-789"),
            new BigDecimal("0.1234567890123456789"), 1.5, 100.0);
        assertEquals(expected, Json.read(text));
        assertEquals(expected, Json.read(Json.write(Json.read(text))));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "-0", "-0.0", "18446744073709551615", "-9223372036854775809", "1e400", "1E400", "1E2147483648", "1e1000000000000000000",
        "-1E-99999999999999999999", "0e99999999999999999999"})
    void aNumberOfAnySizeIsWrittenAsItCame(String number) {
        Object read = Json.read("{\"n\":[" + number + "]}");
        assertEquals("{\"n\":[" + number + "]}", Json.write(read));
        assertEquals(Json.read("{\"n\":[" + number + "]}"), read);
    }

    @Test
    void aLongNumberIsWrittenAsItCame() {
        for (String number : List.of("9".repeat(4400), "-" + "9".repeat(4400), "0." + "1".repeat(4400))) {
            assertEquals(number, Json.write(Json.read(number)));
        }
    }

    @Test
    void aNumberThatNoBigDecimalHoldsIsComparedByItsText() {
        Object number = Json.read("1e1000000000000000000");
        assertEquals(new ExactNumber("1e1000000000000000000"), number);
        assertEquals(new ExactNumber("1e1000000000000000000").hashCode(), number.hashCode());
        assertNotEquals(new ExactNumber("1e1000000000000000001"), number);
        assertEquals(Double.POSITIVE_INFINITY, ((Number) number).doubleValue());
        assertEquals(0, ((Number) Json.read("1e-99999999999999999999")).longValue());
    }

    @ParameterizedTest
    @CsvSource({
        "hi \\ud83d, hi \ufffd", "\\uD83Dx\\uDE00, \ufffdx\ufffd", "\\ud83d\\ud83d\\ude00, \ufffd😀", "\\\\ud83d, \\ud83d", "\\\\\\ud83d, \\\ufffd",
        "\\ude00\\ud83d, \ufffd\ufffd"})
    void halfACharacterIsReadAsTheServiceReadsIt(String text, String read) {
        assertEquals(Map.of(read, List.of(read)), Json.read("{\"" + text + "\":[\"" + text + "\"]}"));
    }

    @Test
    void halfACharacterIsWrittenAsTheServiceReadsIt() {
        String half = "😀".substring(0, 1);
        assertEquals("{\"\ufffd\":\"hi \ufffd\"}", Json.write(Map.of(half, "hi " + half)));
        assertEquals("[\"\ufffd😀\"]", Json.write(List.of(half + "😀")));
        String written = Json.write(half + "\"");
        assertEquals(written, new String(written.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8));
    }

    @Test
    void aPayloadOfTheJournalMatchesItself(APNs apns) throws Exception {
        String payload = "{\"aps\":{\"alert\":\"hi \\ud83d\"},\"beyond\":1E99999999999999999999,\"zero\":-0.0,\"digits\":" + "9".repeat(3000) + "}";
        assertEquals(200, new Backend(apns).send(apns.device().token(), payload).status());
        Request request = apns.await(Map.of("outcome", "delivered"));
        assertEquals(Map.of("alert", "hi \ufffd"), request.payload().get("aps"));
        assertEquals(request.number(), apns.await(Map.of("payload", request.payload())).number());
        assertEquals(1, apns.requests(Map.of("payload", request.payload())).size());
        // A backend that cuts its texts has the half too.
        String half = "😀".substring(0, 1);
        apns.await(Map.of("payload", Map.of("aps", Map.of("alert", "hi " + half))));
        WaitTimeout failure = assertThrows(WaitTimeout.class,
                () -> apns.await(1, Map.of("payload", Map.of("aps", Map.of("alert", half))), Duration.ZERO));
        String shown = "payload is {\"aps\":{\"alert\":\"hi \ufffd\"},\"beyond\":1E99999999999999999999,\"zero\":-0.0";
        assertTrue(failure.getMessage().contains(shown), failure.getMessage());
        assertTrue(failure.getMessage().contains("not {\"aps\":{\"alert\":\"\ufffd\"}}"), failure.getMessage());
    }

    @Test
    void refusesWhatIsNestedTooDeeply() {
        assertThrows(IllegalArgumentException.class, () -> Json.read("[".repeat(100_000)));
    }
}
