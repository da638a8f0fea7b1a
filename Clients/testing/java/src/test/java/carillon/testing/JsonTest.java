package carillon.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
    @ValueSource(strings = {"", "{", "[1", "[1,]x", "{\"a\"}", "{\"a\":1,}", "\"a", "\"\\u00", "\"\\uzzzz\"", "tru", "1 2", "-", "nothing"})
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

    @Test
    void refusesWhatIsNestedTooDeeply() {
        assertThrows(IllegalArgumentException.class, () -> Json.read("[".repeat(100_000)));
    }
}
