/// Chooses the language that fits a user best: the one rule for the texts of apps on devices and for those of a provider.
package struct LanguageMatcher: Sendable, Hashable {
    private struct Choice: Sendable, Hashable {
        let tag: LanguageTag
        /// The tag as it was given.
        let name: String
    }

    /// By their names in lower case and with hyphens.
    private let names: [String: String]
    /// By the key of their tag.
    private let keys: [String: String]
    private let choices: [Choice]

    /// - Parameter languages: the tags of the languages that there are.
    package init(_ languages: some Sequence<String>) {
        // The order decides between two spellings of the same language, so it must not be that of a dictionary.
        let sorted = languages.sorted()
        names = Dictionary(sorted.map { (LanguageTag.normalized($0), $0) }) { first, _ in first }
        choices = sorted.compactMap { name in LanguageTag(name).map { Choice(tag: $0, name: name) } }
        keys = Dictionary(choices.map { ($0.tag.key, $0.name) }) { $0.utf8.count >= $1.utf8.count ? $0 : $1 }
    }

    /// Returns the language for the first of the user's languages that has one.
    ///
    /// For each of them the tag itself is tried, then more general ones in the same script, and then any other variant of
    /// the same language in the same script: `zh-HK`, `zh-Hant`, `zh-TW`, but never `zh-Hans`.
    /// - Parameter languages: the user's languages, the preferred one first.
    /// - Returns: a language as it was given; nil if none fits.
    package func best(for languages: some Sequence<String>) -> String? {
        for language in languages {
            if let name = names[LanguageTag.normalized(language)] { return name }
            guard let wanted = LanguageTag(language) else { continue }
            if let name = wanted.chain.lazy.compactMap({ keys[$0] }).first { return name }
            if let name = variant(of: wanted) { return name }
        }
        return nil
    }

    /// The variant that is nearest.
    private func variant(of wanted: LanguageTag) -> String? {
        func distance(_ choice: Choice) -> Int {
            let (tag, likely) = (choice.tag, LanguageTag(wanted.language)?.likelyRegion)
            return (wanted.isNear(tag) ? 0 : 4) + (tag.region == nil || tag.region == likely ? 0 : 2)
                + (tag.rest.isEmpty ? 0 : 1)
        }
        // The first one in their order, if several are equally near.
        return choices.filter { wanted.isReadable(as: $0.tag) }.min { distance($0) < distance($1) }?.name
    }
}
