// What CLDR 45 says of languages that matters for choosing one: its aliases, likely subtags and language matching
// (https://cldr.unicode.org). `LanguageTagTests` compares it with the system's.
extension LanguageTag {
    /// Deprecated and legacy languages, with their present ones.
    static let currentLanguages: [String: (language: String, script: String?)] = [
        "iw": ("he", nil), "in": ("id", nil), "ji": ("yi", nil), "jw": ("jv", nil), "mo": ("ro", nil),
        "sh": ("sr", "Latn"), "tl": ("fil", nil), "no": ("nb", nil), "cmn": ("zh", nil),
    ]

    /// The spellings of a tag, in lower case and with hyphens: with the present name of its language, and with deprecated ones.
    package static func spellings(of tag: String) -> [String] {
        let tag = normalized(tag)
        let language = String(tag.prefix { $0 != "-" })
        let current = currentLanguages[language]?.language ?? language
        let others = currentLanguages.filter { $0.value.language == current && $0.value.script == nil }.keys.sorted()
        guard !others.isEmpty else { return [tag] }
        return ([current] + others).map { $0 + tag.dropFirst(language.count) }
    }

    /// Whether a tag is another one or begins with it, in whatever spelling: `pt_BR` begins with `PT`.
    package static func begins(_ tag: String, with other: String) -> Bool {
        let beginnings = spellings(of: other)
        return spellings(of: tag).contains { name in beginnings.contains { name == $0 || name.hasPrefix($0 + "-") } }
    }

    static let currentRegions = ["UK": "GB"]

    /// The script of a language without a region, for languages with another one than Latin, and for those of which some
    /// regions have another one.
    private static let scripts = table([
        "Arab": "ar ckb fa ks lrc mzn ps sd ug ur", "Armn": "hy", "Beng": "as bn mni", "Cans": "cr csw iu oj",
        "Cher": "chr", "Cyrl": "ab av ba be bg ce cu cv inh kk kv ky mk mn myv os ru sah sr tg tt uk",
        "Deva": "bgc bho brx doi hi kok mai mr ne raj sa xnr", "Ethi": "am byn gez ti tig wal", "Geor": "ka",
        "Grek": "el", "Gujr": "gu", "Guru": "pa", "Hans": "zh", "Hant": "yue", "Hebr": "he yi", "Jpan": "ja",
        "Khmr": "km", "Knda": "kn", "Kore": "ko", "Laoo": "lo", "Latn": "az bs ha ku ms uz", "Mlym": "ml",
        "Mymr": "my", "Nkoo": "nqo", "Olck": "sat", "Orya": "or", "Sinh": "si", "Syrc": "syr", "Taml": "ta",
        "Telu": "te", "Tfng": "shi zgh", "Thaa": "dv", "Thai": "th", "Tibt": "bo dz", "Vaii": "vai", "Yiii": "ii",
    ])

    /// The scripts of languages in the regions where they are other ones.
    private static let scriptsOfRegions = table([
        "Arab": "az-IQ az-IR ha-CM ha-SD kk-AF kk-CN kk-IR kk-MN ku-LB ky-CN ms-CC pa-PK tg-PK uz-AF",
        "Cyrl": "az-RU ug-KZ ug-MN uz-CN", "Deva": "sd-IN", "Hans": "yue-CN",
        "Hant": "zh-AU zh-BN zh-GB zh-GF zh-HK zh-ID zh-MO zh-PA zh-PF zh-PH zh-SR zh-TH zh-TW zh-VN",
        "Latn": "ky-TR sr-ME sr-RO sr-RU sr-TR", "Mong": "mn-CN",
    ])

    /// The region that a language is most likely used in, for languages that apps have for several regions.
    private static let regions = Dictionary(
        uniqueKeysWithValues: """
            af-ZA ar-EG bn-BD ca-ES cs-CZ da-DK de-DE el-GR en-US es-ES fa-IR fr-FR gsw-CH hr-HR it-IT ko-KR ms-MY nb-NO \
            nl-NL pa-IN pt-BR ro-RO ru-RU sq-AL sr-RS sv-SE sw-TZ ta-IN tr-TR ur-PK uz-UZ yue-HK zh-CN
            """
            .split(separator: " ").map { $0.split(separator: "-") }.map { (String($0[0]), String($0[1])) })

    private static func table(_ words: [String: String]) -> [String: String] {
        var table: [String: String] = [:]
        for (value, keys) in words {
            for key in keys.split(separator: " ") { table[String(key)] = value }
        }
        return table
    }

    static func likelyScript(language: String, region: String?) -> String? {
        region.flatMap { scriptsOfRegions["\(language)-\($0)"] } ?? scripts[language]
    }

    /// The region, written or likely; nil if it is not known.
    var likelyRegion: String? {
        if let region { return region }
        return language == "zh" && script == "Hant" ? "TW" : Self.regions[language]
    }

    private static let english = words("AS CA GU MH MP PH PR UM US VI")
    private static let americas = words("419 AR BO BR BZ CL CO CR CU DO EC GT HN MX NI PA PE PR PY SV US UY VE")
    private static let maghreb = words("DZ EH LY MA MR TN")
    private static let cantonese = words("HK MO")

    private static func words(_ text: String) -> Set<String> { Set(text.split(separator: " ").map(String.init)) }

    /// Whether the region belongs to those in which the language differs most from that of the other regions; nil if
    /// the regions of this language do not fall into two groups.
    private var isOfGroup: Bool? {
        guard let region = likelyRegion else { return nil }
        return switch language {
        case "en": Self.english.contains(region)
        case "es", "pt": Self.americas.contains(region)
        case "ar": Self.maghreb.contains(region)
        case "zh" where script == "Hant": Self.cantonese.contains(region)
        default: nil
        }
    }

    /// Whether the regions of both belong to the same group, so that their variants are alike.
    func isNear(_ other: LanguageTag) -> Bool { isOfGroup == other.isOfGroup }

    /// The region of the variant that fits best after the region's own and before that of the language: `es-419` for
    /// `es-MX`.
    var widerRegion: String? {
        switch (language, isOfGroup) {
        case ("en", false): "001"
        case ("es", true): "419"
        case ("pt", false): "PT"
        case ("zh", true): "HK"
        default: nil
        }
    }
}
