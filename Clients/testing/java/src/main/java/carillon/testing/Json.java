package carillon.testing;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON as the service reads it: maps, lists, texts, numbers, Booleans and null. A number is the first of these that has its value:
 * Long, Double, BigInteger, BigDecimal, ExactNumber, so that no number becomes another one. Half a character is U+FFFD.
 */
final class Json {
    private static final int MAXIMUM_DEPTH = 200;
    private final String text;
    private int at;
    private int depth;

    private Json(String text) { this.text = text; }

    static Object read(String text) {
        Json reader = new Json(text);
        Object value = reader.value();
        reader.skipSpace();
        if (reader.at != text.length()) throw reader.fault();
        return value;
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> map) {
            String before = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(before);
                quote(entry.getKey().toString(), out);
                out.append(':');
                write(entry.getValue(), out);
                before = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> list) {
            out.append('[');
            String before = "";
            for (Object element : list) {
                out.append(before);
                write(element, out);
                before = ",";
            }
            out.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            quote(value.toString(), out);
        }
    }

    private static void quote(String part, StringBuilder out) {
        String text = whole(part);
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < ' ') out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        out.append('"');
    }

    /** The text with U+FFFD in place of each half of a character, which UTF-8 cannot write. */
    private static String whole(String text) {
        if (text.chars().noneMatch(c -> Character.isSurrogate((char) c))) return text;
        StringBuilder out = new StringBuilder();
        // A pair of surrogates is one code point that is none.
        text.codePoints().forEach(c -> out.appendCodePoint(Character.getType(c) == Character.SURROGATE ? 0xfffd : c));
        return out.toString();
    }

    private Object value() {
        skipSpace();
        if (at == text.length() || ++depth > MAXIMUM_DEPTH) throw fault();
        Object value = switch (text.charAt(at)) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", null);
            default -> number();
        };
        depth--;
        return value;
    }

    private Map<String, Object> object() {
        Map<String, Object> members = new LinkedHashMap<>();
        at++;
        if (takes('}')) return members;
        do {
            skipSpace();
            String name = string();
            if (!takes(':')) throw fault();
            members.put(name, value());
        } while (takes(','));
        if (!takes('}')) throw fault();
        return members;
    }

    private List<Object> array() {
        List<Object> elements = new ArrayList<>();
        at++;
        if (takes(']')) return elements;
        do elements.add(value()); while (takes(','));
        if (!takes(']')) throw fault();
        return elements;
    }

    private String string() {
        if (at == text.length() || text.charAt(at) != '"') throw fault();
        StringBuilder out = new StringBuilder();
        for (at++; at < text.length(); at++) {
            char c = text.charAt(at);
            if (c == '"') {
                at++;
                return whole(out.toString());
            }
            if (c != '\\') {
                out.append(c);
                continue;
            }
            if (++at == text.length()) break;
            c = text.charAt(at);
            switch (c) {
                case 'n' -> out.append('\n');
                case 't' -> out.append('\t');
                case 'r' -> out.append('\r');
                case 'b' -> out.append('\b');
                case 'f' -> out.append('\f');
                case 'u' -> {
                    if (at + 4 >= text.length()) throw fault();
                    String digits = text.substring(at + 1, at + 5);
                    if (!digits.matches("[0-9a-fA-F]{4}")) throw fault();
                    out.append((char) Integer.parseInt(digits, 16));
                    at += 4;
                }
                default -> out.append(c);
            }
        }
        throw fault();
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) throw fault();
        at += word.length();
        return value;
    }

    private Object number() {
        int start = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) at++;
        String number = text.substring(start, at);
        if (!number.matches("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?")) throw fault();
        // A Long has no -0.
        if (number.matches("-?\\d+") && !number.equals("-0")) {
            BigInteger whole = new BigInteger(number);
            return whole.bitLength() < Long.SIZE ? (Object) whole.longValue() : whole;
        }
        BigDecimal exact;
        try {
            exact = new WrittenDecimal(number);
        } catch (NumberFormatException e) {
            return new ExactNumber(number);
        }
        double near = Double.parseDouble(number);
        boolean isExact = Double.isFinite(near) && new BigDecimal(Double.toString(near)).compareTo(exact) == 0;
        return isExact && !number.equals("-0") ? (Object) near : exact;
    }

    /** A BigDecimal that is written as it came: 1e400 and not 1E+400. */
    private static final class WrittenDecimal extends BigDecimal {
        private static final long serialVersionUID = 1;
        private final String text;

        WrittenDecimal(String text) {
            super(text);
            this.text = text;
        }

        @Override
        public String toString() { return text; }
    }

    private boolean takes(char c) {
        skipSpace();
        if (at == text.length() || text.charAt(at) != c) return false;
        at++;
        return true;
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
    }

    private IllegalArgumentException fault() { return new IllegalArgumentException("no JSON at " + at); }
}
