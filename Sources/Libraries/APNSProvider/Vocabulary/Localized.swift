/// A value in several languages, such as a text. The provider picks the one that suits each user (Guide, 2.2.4.1).
///
/// The app tells its provider the user's preferred languages (`Locale.preferredLanguages`). The provider then asks
/// for the value that fits them best:
///
/// ```swift
/// let greeting = Localized(["en": "Hello", "fr": "Bonjour", "zh-Hant": "你好"], fallback: "Hello")
/// greeting.best(for: ["fr-CA", "en-CA"])  // Bonjour
/// ```
///
/// To let the app localise the text instead, send the key of a string in the app: ``APS/Alert/locKey``.
public struct Localized<Value: Sendable>: Sendable {
    private var values: [String: Value]
    private let fallback: Value

    /// Creates a localised value.
    /// - Parameters:
    ///   - values: the values by language tag (BCP 47), such as `en`, `fr-CA` or `zh-Hans`.
    ///   - fallback: the value for users whose languages are missing: "a widely spoken language" (2.2.4.1).
    public init(_ values: [String: Value], fallback: Value) {
        self.fallback = fallback
        self.values = [:]
        for (language, value) in values { self.values[Self.normalised(language)] = value }
    }

    /// Returns the value for the first of the user's languages that has one. If none has one, returns the fallback.
    ///
    /// For each language the full tag is tried first, then shorter and shorter forms: `zh-Hant-TW`, `zh-Hant`, `zh`
    /// (RFC 4647, 3.4).
    /// - Parameter languages: the user's languages, the preferred one first.
    public func best(for languages: some Sequence<String>) -> Value {
        for language in languages {
            var subtags = Self.normalised(language).split(separator: "-")
            while !subtags.isEmpty {
                if let value = values[subtags.joined(separator: "-")] { return value }
                subtags.removeLast()
                // A single letter or digit introduces the subtag after it, so both are removed together (RFC 4647,
                // 3.4).
                if subtags.last?.count == 1 { subtags.removeLast() }
            }
        }
        return fallback
    }

    /// Makes tags comparable: they are case-insensitive, and some systems write an underscore instead of a hyphen.
    private static func normalised(_ language: String) -> String {
        language.lowercased().replacing("_", with: "-")
    }
}
