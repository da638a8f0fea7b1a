import Testing

@testable import DeviceAgent

struct DesktopTextTests {
    @Test(arguments: [
        ("Order\u{0}\u{7}\u{1b}[31m 7\u{7f}\u{85}", "Order[31m 7"), ("a\nb\tc", "a\nb\tc"),
        ("a\r\nb\u{2028}c\u{2029}", "a\nbc"),
        ("photo\u{202e}gpj.exe", "photogpj.exe"), ("\u{202a}a\u{202b}b\u{202c}\u{202d}c", "abc"),
        ("\u{2066}a\u{2067}b\u{2068}c\u{2069}", "abc"), ("שלום\u{200f} 👩‍👧 e\u{301}", "שלום\u{200f} 👩‍👧 e\u{301}"),
    ])
    func `Control characters and those that turn a text around are not shown`(_ text: String, _ shown: String) {
        #expect(Array(DesktopText.clean(text).unicodeScalars) == Array(shown.unicodeScalars))
    }

    @Test(arguments: [
        (["de-AT"], "Öffnen"), (["iw-IL", "en"], "פתיחה"), (["zh-TW"], "打開"), (["zh_CN.UTF-8"], "打开"), (["no"], "Åpne"),
        (["pt-BR"], "Abrir"), (["tlh", "sv"], "Öppna"), (["tlh"], "Open"), ([], "Open"),
    ])
    func `The action that opens the app is named in the user's language`(_ languages: [String], _ name: String) {
        #expect(DesktopText.open(for: languages) == name)
    }
}
