import Notifications

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
    private let values: [String: Value]
    private let fallback: Value
    private let matcher: LanguageMatcher

    /// Creates a localised value.
    /// - Parameters:
    ///   - values: the values by language tag (BCP 47), such as `en`, `fr-CA` or `zh-Hans`.
    ///   - fallback: the value for users whose languages are missing: "a widely spoken language" (2.2.4.1).
    public init(_ values: [String: Value], fallback: Value) {
        self.fallback = fallback
        self.values = values
        matcher = LanguageMatcher(values.keys)
    }

    /// Returns the value for the first of the user's languages that has one. If none has one, returns the fallback.
    ///
    /// For each language the full tag is tried first, then shorter and shorter forms (RFC 4647, 3.4), and then the nearest
    /// variant of the same language, always in the same script. As CLDR has them, `zh-TW` is written in the script of
    /// `zh-Hant`, and `iw` is `he`.
    /// - Parameter languages: the user's languages, the preferred one first.
    public func best(for languages: some Sequence<String>) -> Value {
        matcher.best(for: languages).flatMap { values[$0] } ?? fallback
    }
}
