/// One thing in several languages, of which each user gets the one that suits: localisation by the provider (Guide,
/// 2.2.4.1).
///
/// The app tells its provider the user's preferred languages (`Locale.preferredLanguages`), and the provider asks for
/// the best of what there is:
///
/// ```swift
/// let greeting = Localized(["en": "Hello", "fr": "Bonjour", "zh-Hant": "你好"], fallback: "Hello")
/// greeting.best(for: ["fr-CA", "en-CA"])  // Bonjour
/// ```
///
/// The other way, strings in the app named by key, is ``APS/Alert/locKey``.
public struct Localized<Value: Sendable>: Sendable {
    private var values: [String: Value]
    private let fallback: Value

    /// - Parameters:
    ///   - values: by language tag (BCP 47), as `en`, `fr-CA` or `zh-Hans`.
    ///   - fallback: for those whose languages are not there: "a widely spoken language" (2.2.4.1).
    public init(_ values: [String: Value], fallback: Value) {
        self.fallback = fallback
        self.values = [:]
        for (language, value) in values { self.values[Self.normalised(language)] = value }
    }

    /// The value for the first of the languages that there is one for; the fallback where there is none.
    ///
    /// A language is looked for as it is, and then ever more generally: `zh-Hant-TW`, `zh-Hant`, `zh` (RFC 4647, 3.4).
    /// - Parameter languages: the user's, the preferred one first.
    public func best(for languages: some Sequence<String>) -> Value {
        for language in languages {
            var subtags = Self.normalised(language).split(separator: "-")
            while !subtags.isEmpty {
                if let value = values[subtags.joined(separator: "-")] { return value }
                subtags.removeLast()
                // A single letter or digit introduces what follows it, and goes with it.
                if subtags.last?.count == 1 { subtags.removeLast() }
            }
        }
        return fallback
    }

    /// Tags are the same in either case, and some systems write an underscore.
    private static func normalised(_ language: String) -> String {
        language.lowercased().replacing("_", with: "-")
    }
}
