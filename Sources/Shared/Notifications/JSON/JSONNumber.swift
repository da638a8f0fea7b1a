/// A number as JSON writes it. It keeps its digits, so that a number of any size or precision can be read and written
/// again without becoming another one.
///
/// Two numbers are equal if they have the same value: 1, 1.0 and 10e-1 are.
public struct JSONNumber: Sendable {
    /// The number as JSON writes it (RFC 8259, 6).
    public let digits: String

    /// Takes a number in the form of JSON.
    /// - Returns: nil if the text is anything else.
    public init?(_ digits: String) {
        let text = Array(digits.utf8)
        var index = 0
        guard JSONText.skipNumber(text.span, &index), index == text.count else { return nil }
        self.digits = digits
    }

    /// A number that is not an integer may be rounded, as every `Double` is.
    /// - Returns: nil if the number is infinite, or not a number.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        digits = Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }

    /// An integer.
    public init(_ value: some BinaryInteger) { digits = "\(value)" }

    /// Takes digits that are known to be a number of JSON.
    init(checked digits: String) { self.digits = digits }

    /// Whether JSON can write the number: it is neither infinite nor NaN, which only ``JSONValue/number(_:)`` makes.
    var isFinite: Bool { digits.utf8.last.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false }

    /// The nearest `Double`; nil if the number is too large.
    public var double: Double? { Double(digits).flatMap { $0.isFinite ? $0 : nil } }

    /// Whether the number has at most this many digits, and no larger power of ten. What computes with numbers, such as a
    /// database, refuses others.
    package func isWithin(digits maximumDigits: Int, power: Int) -> Bool {
        guard digits.utf8.count <= maximumDigits, case .number(_, _, let exponent) = form else { return false }
        return (-power...power).contains(exponent)
    }

    /// The value, if it is an integer of 64 bits, however it is written; nil otherwise.
    public var int64: Int64? {
        if let value = Int64(digits) { return value }
        // The largest number of 64 bits has 19 digits.
        guard case .number(let isNegative, let digits, let exponent) = form, exponent >= 0,
            exponent <= 19 - digits.count
        else { return nil }
        let text = String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: exponent)
        return Int64((isNegative ? "-" : "") + (text.isEmpty ? "0" : text))  // fits: nil if it does not
    }
}

extension JSONNumber: Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    public init(integerLiteral value: Int64) { self.init(value) }
    /// A literal is a finite number.
    public init(floatLiteral value: Double) { self = JSONNumber(value) ?? 0 }

    public var description: String { digits }

    public static func == (one: JSONNumber, other: JSONNumber) -> Bool {
        one.digits == other.digits || one.form == other.form
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(form) }

    /// The one form of a value: an integer without zeros at its ends, and a power of ten.
    private enum Form: Hashable {
        case number(isNegative: Bool, digits: [UInt8], exponent: Int)
        /// The exponent does not fit into an `Int`. Such numbers are equal only if they are written alike.
        case beyond(String)
    }

    /// How the number compares with another one, exactly: less than 0 if it is smaller, 0 if both are equal.
    /// - Returns: nil if the exponent of one does not fit into an `Int`.
    package func order(to other: JSONNumber) -> Int? {
        guard case .number(let isNegative, let digits, let exponent) = form,
            case .number(let otherNegative, let otherDigits, let otherExponent) = other.form
        else { return nil }
        let (sign, otherSign) = (Self.sign(isNegative, digits), Self.sign(otherNegative, otherDigits))
        guard sign == otherSign, sign != 0 else { return sign - otherSign }
        // The place of the first digit decides before the digits do.
        guard case (let place, false) = exponent.addingReportingOverflow(digits.count),
            case (let otherPlace, false) = otherExponent.addingReportingOverflow(otherDigits.count)
        else { return nil }
        if place != otherPlace { return place < otherPlace ? -sign : sign }
        if digits == otherDigits { return 0 }
        return digits.lexicographicallyPrecedes(otherDigits) ? -sign : sign
    }

    private static func sign(_ isNegative: Bool, _ digits: [UInt8]) -> Int {
        digits.isEmpty ? 0 : isNegative ? -1 : 1
    }

    /// The same digits for all numbers that are equal.
    var canonicalDigits: String {
        switch form {
        case .number(let isNegative, let digits, let exponent):
            (isNegative ? "-" : "") + String(decoding: digits.isEmpty ? [UInt8(ascii: "0")] : digits, as: UTF8.self)
                + (exponent == 0 ? "" : "e\(exponent)")
        case .beyond(let digits): digits
        }
    }

    private var form: Form {
        guard isFinite else { return .beyond(digits) }
        var (significant, fraction, exponent): ([UInt8], Int, Substring) = ([], 0, "")
        let isNegative = digits.utf8.first == UInt8(ascii: "-")
        var isFraction = false
        for index in digits.utf8.indices {
            switch digits.utf8[index] {
            case UInt8(ascii: "-"): continue
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"): exponent = digits[digits.utf8.index(after: index)...]
            case let digit:
                guard exponent.isEmpty else { continue }
                if isFraction { fraction += 1 }
                if !significant.isEmpty || digit != UInt8(ascii: "0") { significant.append(digit) }
            }
        }
        var zeros = 0
        while significant.last == UInt8(ascii: "0") {
            significant.removeLast()
            zeros += 1
        }
        guard !significant.isEmpty else { return .number(isNegative: false, digits: [], exponent: 0) }
        // The digits are part of a text, so their numbers are far from the limits of an `Int`.
        let shift = zeros - fraction
        guard let power = exponent.isEmpty ? 0 : Int(exponent),  // fits: nil if it does not
            case (let sum, false) = power.addingReportingOverflow(shift)
        else { return .beyond(digits) }
        return .number(isNegative: isNegative, digits: significant, exponent: sum)
    }
}
