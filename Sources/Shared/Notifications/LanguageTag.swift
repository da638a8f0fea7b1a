/// A language tag (BCP 47) such as `zh-TW`, with what CLDR knows about it: deprecated subtags have their present form
/// (`iw` is `he`), and the script is filled in if it follows from the language and the region.
package struct LanguageTag: Sendable, Hashable {
    /// In lower case.
    package let language: String
    /// The script, written or likely, such as `Hant`; nil if it was not written and the language usually has one only.
    package let script: String?
    /// Two capital letters or three digits; nil if there is none.
    package let region: String?
    /// Variants and extensions, in lower case.
    package let rest: [String]

    /// Reads a tag. Some systems write underscores in place of hyphens, and an encoding or a script after them:
    /// `zh_TW.UTF-8`, `sr_RS@latin`.
    /// - Returns: nil if the text does not begin with a language.
    package init?(_ text: String) {
        let name = text.prefix { $0 != "." && $0 != "@" }
        var subtags = name.split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }.map { $0.lowercased() }[
            ...]
        guard let first = subtags.popFirst(), (2...8).contains(first.utf8.count), first.isASCIILetters else {
            return nil
        }
        var script: String?
        if let next = subtags.first, next.utf8.count == 4, next.isASCIILetters {
            script = next.prefix(1).uppercased() + next.dropFirst()
            subtags.removeFirst()
        }
        if text.hasSuffix("@latin") { script = "Latn" }
        if text.hasSuffix("@cyrillic") { script = "Cyrl" }
        var region: String?
        if let next = subtags.first, next.isRegion {
            region = Self.currentRegions[next.uppercased()] ?? next.uppercased()
            subtags.removeFirst()
        }
        let current = Self.currentLanguages[first]
        language = current?.language ?? first
        self.script = script ?? current?.script ?? Self.likelyScript(language: language, region: region)
        self.region = region
        rest = Array(subtags)
    }

    /// A tag in lower case and with hyphens, as which all comparisons of texts take it. Some systems write underscores.
    static func normalized(_ tag: String) -> String { tag.replacing("_", with: "-").lowercased() }

    /// The tag in a form that is the same for all spellings of it.
    var key: String { Self.key(language, script, region, rest[...]) }

    private static func key(
        _ language: String, _ script: String?, _ region: String?, _ rest: ArraySlice<String> = [],
    ) -> String {
        ([language] + [script, region].compactMap(\.self) + rest).joined(separator: "-")
    }

    /// The keys of this tag and of those that are more and more general, but have the same script (RFC 4647, 3.4):
    /// `zh-TW` is followed by `zh-Hant`, and not by `zh`, which is `zh-Hans`.
    var chain: [String] {
        var keys: [String] = []
        var rest = rest[...]
        while !rest.isEmpty {
            keys.append(Self.key(language, script, region, rest))
            rest.removeLast()
            // A single letter or digit introduces the subtag after it, so both are removed together.
            if rest.last?.utf8.count == 1 { rest.removeLast() }
        }
        if let region {
            keys.append(Self.key(language, script, region))
            if let wider = widerRegion { keys.append(Self.key(language, script, wider)) }
        }
        return keys + [Self.key(language, script, nil)]
    }

    /// Whether a speaker of one reads the other: it is the same language in the same script.
    func isReadable(as other: LanguageTag) -> Bool {
        language == other.language && (script == nil || other.script == nil || script == other.script)
    }
}

extension String {
    fileprivate var isASCIILetters: Bool {
        utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }
    }

    fileprivate var isRegion: Bool {
        switch utf8.count {
        case 2: isASCIILetters
        case 3: utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        default: false
        }
    }
}
