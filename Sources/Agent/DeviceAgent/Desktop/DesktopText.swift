import Notifications

/// What the agent writes on the desktop.
enum DesktopText {
    /// Returns a provider's text as the desktop may show it.
    static func clean(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 == "\n" || $0 == "\t" || !$0.isUnsafeToShow }))
    }

    /// The name of the action that opens the app, by language. Without the user's language it is the English one.
    private static let open = [
        "ar": "فتح", "bg": "Отваряне", "ca": "Obre", "cs": "Otevřít", "da": "Åbn", "de": "Öffnen", "el": "Άνοιγμα",
        "en": "Open",
        "es": "Abrir", "et": "Ava", "fa": "باز کردن", "fi": "Avaa", "fr": "Ouvrir", "he": "פתיחה", "hi": "खोलें",
        "hr": "Otvori",
        "hu": "Megnyitás", "id": "Buka", "it": "Apri", "ja": "開く", "ko": "열기", "lt": "Atverti", "lv": "Atvērt",
        "ms": "Buka",
        "nb": "Åpne", "nl": "Openen", "pl": "Otwórz", "pt": "Abrir", "ro": "Deschide", "ru": "Открыть", "sk": "Otvoriť",
        "sl": "Odpri", "sr": "Отвори", "sv": "Öppna", "th": "เปิด", "tr": "Aç", "uk": "Відкрити", "vi": "Mở",
        "zh-Hans": "打开", "zh-Hant": "打開",
    ]

    private static let languages = LanguageMatcher(open.keys)

    /// - Parameter languages: the user's languages, the preferred one first.
    static func open(for languages: [String]) -> String {
        Self.languages.best(for: languages).flatMap { open[$0] } ?? "Open"
    }
}
