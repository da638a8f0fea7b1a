package import Notifications

/// A condition on installations: `appVersion >= 2.1 and (language = sv or points > 5) and not tag = muted`. Conditions on tags
/// alone have a shorter form too: `(news && sv) && !muted`.
///
/// `not` binds more tightly than `and`, and `and` more tightly than `or`.
package indirect enum AudienceExpression: Sendable, Hashable {
    case condition(Condition)
    case not(AudienceExpression)
    case and(AudienceExpression, AudienceExpression)
    case or(AudienceExpression, AudienceExpression)

    /// A comparison of one property of an installation.
    package enum Condition: Sendable, Hashable {
        /// The app or the backend has set this tag.
        case tag(String)
        /// One of the languages is this one or begins with it: `pt` includes `pt-BR`. In any spelling.
        case language(String)
        case timeZone(String)
        case environment(Environment)
        case user(String)
        /// There is a device token of this service.
        case service(String)
        /// This Live Activity runs.
        case activity(String)
        case appVersion(Comparison, AppVersion)
        /// When the app last registered its device token, which it does at every launch.
        case lastSeen(Comparison, Moment)
        /// When the installation was added.
        case registered(Comparison, Moment)
        case number(name: String, Comparison, JSONNumber)
        case text(name: String, String)
        case boolean(name: String, Bool)
    }

    package enum Comparison: String, Sendable, Hashable, CaseIterable {
        case equal = "="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
    }

    /// A time, or how long ago it was.
    package enum Moment: Sendable, Hashable {
        case at(Timestamp)
        case ago(Duration)

        package func timestamp(now: Timestamp) -> Timestamp {
            switch self {
            case .at(let time): return time
            case .ago(let duration):
                let (seconds, attoseconds) = duration.components
                let milliseconds = Int128(seconds) * 1000 + Int128(attoseconds / 1_000_000_000_000_000)
                // fits: 128 bits, of two with 64
                return Timestamp(milliseconds: UInt64(clamping: Int128(now.milliseconds) - milliseconds))
            }
        }
    }

    /// The longest expression, in bytes.
    package static let maximumBytes = 2_000
    /// The largest number of comparisons. Each of them is made for every installation.
    package static let maximumConditions = 50
    /// The largest depth of parentheses and `not`. The parser recurses, and SQLite's parser allows a depth of 1,000.
    package static let maximumDepth = 20

    /// - Parameters:
    ///   - services: the names of services that an app may have.
    ///   - moment: reads a time or a duration; nil if the text is neither.
    package init(
        _ text: String,
        services: [String],
        moment: @escaping (String) -> Moment?,
    ) throws(ExpressionFault) {
        var parser = AudienceParser(text, services: services, moment: moment)
        self = try parser.expression()
    }

    /// - Parameter text: an expression of tags.
    package init(tags text: String) throws(ExpressionFault) {
        var parser = TagParser(text)
        self = try parser.expression()
    }

    /// Returns an expression that is true if those of both that are given are.
    package static func all(_ one: AudienceExpression?, _ other: AudienceExpression?) -> AudienceExpression? {
        guard let one, let other else { return one ?? other }
        return .and(one, other)
    }

    /// Whether it compares versions of the app.
    package var comparesVersions: Bool {
        switch self {
        case .condition(.appVersion): true
        case .condition: false
        case .not(let inner): inner.comparesVersions
        case .and(let left, let right), .or(let left, let right): left.comparesVersions || right.comparesVersions
        }
    }
}

/// The version of an app as numbers: `2.1` is the same as `2.1.0`, and less than `2.10`.
package struct AppVersion: Sendable, Hashable, Comparable {
    private let numbers: [UInt64]

    /// Reads the numbers at the beginning, with periods between them. What comes after them does not count: `2.1 (354)` is
    /// 2.1.
    /// - Returns: nil if the text does not begin with a number.
    package init?(_ text: String) {
        var numbers: [UInt64] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            let digits = part.prefix { ("0"..."9").contains($0) }
            guard !digits.isEmpty else { break }
            // A number that is too large is larger than all others.
            numbers.append(UInt64(digits) ?? .max)
            if digits.count < part.count { break }
        }
        guard !numbers.isEmpty else { return nil }
        while numbers.count > 1, numbers.last == 0 { numbers.removeLast() }
        self.numbers = numbers
    }

    package static func < (left: AppVersion, right: AppVersion) -> Bool {
        left.numbers.lexicographicallyPrecedes(right.numbers)
    }
}

extension AudienceExpression.Comparison {
    package func holds<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .equal: left == right
        case .notEqual: left != right
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        case .greaterOrEqual: left >= right
        }
    }
}
