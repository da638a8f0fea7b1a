import Foundation
import Testing

@testable import Notifications

/// The one rule by which devices and providers choose a language.
@Suite("Languages")
struct LanguageTests {
    /// The user's languages, the languages that there are, and the chosen one.
    private static let choices: [([String], [String], String?)] = [
        (["zh-TW"], ["zh-Hans", "zh-Hant"], "zh-Hant"), (["zh-HK"], ["zh-Hans", "zh-Hant"], "zh-Hant"),
        (["zh-MO"], ["zh-Hant", "zh-HK", "zh-TW"], "zh-HK"),
        (["zh-CN"], ["zh-Hans", "zh-Hant"], "zh-Hans"),
        (["zh-SG"], ["zh-Hans", "zh-Hant"], "zh-Hans"), (["zh"], ["zh-Hant", "zh-Hans"], "zh-Hans"),
        (["zh-Hant"], ["zh-CN", "zh-TW"], "zh-TW"), (["zh-Hant-HK"], ["zh-TW", "zh"], "zh-TW"),
        (["zh-Hans"], ["zh_TW", "zh_CN"], "zh_CN"), (["zh-TW", "en"], ["zh", "en"], "en"),
        (["zh-TW"], ["zh-Hans"], nil), (["zh_TW.UTF-8"], ["zh-Hant"], "zh-Hant"),
        (["cmn-TW"], ["zh-Hant"], "zh-Hant"), (["yue"], ["yue-CN", "yue-HK"], "yue-HK"),
        (["iw-IL"], ["en", "he"], "he"), (["he-IL"], ["iw"], "iw"), (["in-ID"], ["id", "it"], "id"),
        (["in"], ["in", "id"], "in"), (["ji"], ["yi"], "yi"), (["tl-PH"], ["fil"], "fil"), (["no"], ["nb"], "nb"),
        (["mo"], ["ro"], "ro"), (["jw"], ["jv"], "jv"), (["en-UK"], ["en-US", "en-GB"], "en-GB"),
        (["sr"], ["sr-Latn", "sr-Cyrl"], "sr-Cyrl"), (["sr-ME"], ["sr-Latn", "sr-Cyrl"], "sr-Latn"),
        (["sh"], ["sr", "sr-Latn"], "sr-Latn"), (["sr_RS@latin"], ["sr", "sr-Latn"], "sr-Latn"),
        (["uz-AF"], ["uz", "uz-Arab"], "uz-Arab"), (["pa-PK"], ["pa"], nil),
        (["de"], ["de-AT", "de-DE"], "de-DE"), (["de-CH"], ["de-AT", "de"], "de"),
        (["de"], ["de-x-formal"], "de-x-formal"),
        (["de-DE-x-formal-a"], ["de", "de-DE"], "de-DE"), (["de-x-formal"], ["de", "de-X-Formal"], "de-X-Formal"),
        (["en-AU"], ["en-US", "en-GB"], "en-GB"), (["en-AU"], ["en", "en-001"], "en-001"),
        (["en-CA"], ["en-GB", "en-US"], "en-US"), (["en"], ["en-GB", "en-US"], "en-US"),
        (["es-MX"], ["es", "es-419"], "es-419"), (["es-AR"], ["es-ES", "es-MX"], "es-MX"),
        (["es"], ["es-419", "es-ES"], "es-ES"),
        (["pt"], ["pt-PT", "pt-BR"], "pt-BR"), (["pt-AO"], ["pt", "pt-PT"], "pt-PT"), (["pt-PT"], ["pt-BR"], "pt-BR"),
        (["fr", "de"], ["de"], "de"), (["d", "*", "", "-", "x-a"], ["en"], nil), ([], ["en"], nil), (["en"], [], nil),
    ]

    @Test(arguments: choices)
    func `The language that fits the user best is chosen`(_ user: [String], _ there: [String], _ best: String?) {
        #expect(LanguageMatcher(there).best(for: user) == best)
        #expect(LanguageMatcher(there.reversed()).best(for: user) == best)
        #expect(LanguageMatcher(there).best(for: user.map { $0.uppercased() }) == best || user == ["sr_RS@latin"])
    }

    /// The system has CLDR too, perhaps of another release. It names Nastaliq, a style of the Arabic script.
    @Test(arguments: [
        "zh", "yue", "sr", "az", "uz", "kk", "ky", "mn", "pa", "ug", "tg", "sd", "ku", "ha", "ms", "ar", "fa", "ur",
        "he", "yi",
        "hi", "ru", "uk", "bg", "mk", "be", "ka", "hy", "el", "ja", "ko", "th", "lo", "km", "my", "am", "ti", "ta",
        "te",
    ])
    func `Scripts are those that CLDR has`(_ language: String) {
        for region in [nil] + Locale.Region.isoRegions.map(\.identifier).filter({ $0.utf8.count == 2 }) {
            let text = [language, region].compactMap(\.self).joined(separator: "-")
            let known = Locale.Language(identifier: text).maximalIdentifier.split(separator: "-")
            let script = known.count == 3 ? String(known[1]).replacing("Aran", with: "Arab") : nil
            #expect(LanguageTag(text)?.script == script, "\(text)")
        }
    }

    @Test(arguments: ["ar", "de", "en", "es", "fr", "pt", "sr", "sv", "yue", "zh", "zh-Hant", "nb", "ms", "ko"])
    func `Likely regions are those that CLDR has`(_ tag: String) {
        let known = Locale.Language(identifier: tag).maximalIdentifier.split(separator: "-").last.map(String.init)
        #expect(LanguageTag(tag)?.likelyRegion == known)
    }

    @Test func `An audience finds a language under its deprecated names too`() {
        #expect(LanguageTag.spellings(of: "he-il") == ["he-il", "iw-il"])
        #expect(LanguageTag.spellings(of: "in") == ["id", "in"])
        #expect(LanguageTag.spellings(of: "zh-tw") == ["zh-tw", "cmn-tw"])
        #expect(LanguageTag.spellings(of: "sv_SE") == ["sv-se"])
    }
}
