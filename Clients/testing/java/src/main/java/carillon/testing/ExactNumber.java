package carillon.testing;

/** A number whose power of ten no BigDecimal can hold, such as 1e1000000000000000000. It is equal to one that is written alike. */
public final class ExactNumber extends Number {
    private static final long serialVersionUID = 1;
    private final String text;

    ExactNumber(String text) { this.text = text; }

    /** The number as it came. */
    @Override
    public String toString() { return text; }

    @Override
    public boolean equals(Object other) { return other instanceof ExactNumber number && number.text.equals(text); }

    @Override
    public int hashCode() { return text.hashCode(); }

    /** The nearest double: infinite, or 0. */
    @Override
    public double doubleValue() { return Double.parseDouble(text); }

    @Override
    public float floatValue() { return (float) doubleValue(); }

    @Override
    public long longValue() { return (long) doubleValue(); }

    @Override
    public int intValue() { return (int) doubleValue(); }
}
