import CommonTesting
import Foundation
import Testing

@testable import APNSDevice

struct StringsTableTests {
    @Test func `Entries, comments, words without quotation marks, and keys without values are read`() throws {
        let table = try StringsTable(
            parsing: """
                /* A comment
                   over two lines; "not" = "read"; */
                "GAME_PLAY_REQUEST_FORMAT" = "%@ and %@ have invited you to play Monopoly";
                // Another one
                plain_key = plain.value ;  "alone";
                "twice" = "first"; "twice" = "second";
                'single' = 'it is';
                """)
        #expect(table["GAME_PLAY_REQUEST_FORMAT"] == "%@ and %@ have invited you to play Monopoly")
        #expect(table["plain_key"] == "plain.value")
        #expect(table["alone"] == "alone")
        #expect(table["twice"] == "second")
        #expect(table["single"] == "it is")
        #expect(table["not"] == nil)
        #expect(table.count == 5)
    }

    @Test(arguments: [
        (#"\n"#, "\n"), (#"\t\r"#, "\t\r"), (#"\"\\"#, "\"\\"), (#"\U00e9"#, "é"), (#"\ud83d\udd14"#, "🔔"),
        (#"\101\60"#, "A0"), (#"\q"#, "q"), ("é🔔", "é🔔"), ("a\nb", "a\nb"), (#"\Ud83d"#, "\u{fffd}"),
    ])
    func `Escapes are resolved`(_ written: String, _ text: String) throws {
        #expect(try StringsTable(parsing: #""key" = "\#(written)";"#)["key"] == text)
    }

    @Test(arguments: [
        ("\n\"key\" = \"text\"", 2), (#""key" "text";"#, 1), (#""key" = ;"#, 1), (#""key" = "text"#, 1),
        ("/* no end", 1), ("\n\n= \"x\";", 3), (#""k" = "\u";"#, 1), (#""k" = "\"#, 1), ("{ a = b; }", 1),
    ])
    func `An error names its line`(_ text: String, _ line: Int) {
        let error = #expect(throws: StringsTable.ParseError.self) { try StringsTable(parsing: text) }
        #expect(error?.line == line)
    }

    @Test func `Files in UTF-8 and UTF-16, with a byte order mark, are read`() throws {
        let text = #""key" = "é🔔";"#
        let utf16 = text.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
        #expect(try StringsTable(bytes: Array(text.utf8))["key"] == "é🔔")
        #expect(try StringsTable(bytes: [0xef, 0xbb, 0xbf] + Array(text.utf8))["key"] == "é🔔")
        #expect(try StringsTable(bytes: [0xff, 0xfe] + utf16)["key"] == "é🔔")
        #expect(throws: StringsTable.ParseError.self) { try StringsTable(bytes: [0x22, 0xc3, 0x28]) }
        #expect(throws: StringsTable.ParseError.self) {
            try StringsTable(bytes: [UInt8](repeating: 0x20, count: StringsTable.maximumBytes + 1))
        }
    }

    @Test func `No input crashes the reader`() {
        var random = SeededGenerator()
        let alphabet = Array("\"'\\/*=;uU0n \n%é{")
        for _ in 0..<2000 {
            let text = String((0..<20).map { _ in alphabet.randomElement(using: &random) ?? " " })
            _ = try? StringsTable(parsing: text)
        }
    }
}

struct FormatStringTests {
    @Test(arguments: [
        ("%@ and %@", ["Jenna", "Frank"], "Jenna and Frank"),
        ("%2$@ und %1$@", ["Jenna", "Frank"], "Frank und Jenna"),
        ("%1$@ %1$@ %@", ["a", "b"], "a a a"),
        ("100 %% of %@", ["it"], "100 % of it"),
        ("%@ and %@", ["Jenna"], "Jenna and "),
        ("%3$@", ["a"], ""),
        ("%@", ["a", "b"], "a"),
        ("none", ["a"], "none"),
        ("%", ["a"], "%"),
        ("%d %s %0$@ %99999999999999999999$@", ["a"], "%d %s %0$@ %99999999999999999999$@"),
        ("%@", ["%@ %%"], "%@ %%"),
        ("%%@", ["a"], "%@"),
    ])
    func `Placeholders are replaced by the arguments`(_ format: String, _ arguments: [String], _ text: String) {
        #expect(FormatString.filled(format, arguments) == text)
    }

    @Test func `A very long text is cut off`() {
        let text = FormatString.filled(
            String(repeating: "%1$@", count: 1000), [String(repeating: "x", count: 1000)])
        #expect(text.utf8.count == FormatString.maximumBytes)
        // The last character is not cut in two.
        let wide = FormatString.filled("x%@", [String(repeating: "é", count: FormatString.maximumBytes)])
        #expect(wide.utf8.count == FormatString.maximumBytes - 1 && wide.last == "é")
        let format = String(repeating: "x", count: FormatString.maximumBytes + 1)
        #expect(FormatString.filled(format, []).utf8.count == FormatString.maximumBytes)
    }
}

struct LocalizationsTests {
    private let localizations = Localizations([
        "en": StringsTable(["k": "en", "only-en": "x"]), "de": StringsTable(["k": "de"]),
        "pt-BR": StringsTable(["k": "pt-BR"]), "zh_Hant": StringsTable(["k": "zh-Hant"]),
        "Base": StringsTable(["base": "base", "k": "base"]),
    ])

    @Test(arguments: [
        (["de"], "de"), (["de-CH"], "de"), (["DE_at"], "de"), (["fr", "de", "en"], "de"), (["pt-PT"], "pt-BR"),
        (["zh-Hant-TW"], "zh-Hant"), (["fr"], "en"), ([], "en"), (["d"], "en"),
        (["zh-TW"], "zh-Hant"), (["zh-HK"], "zh-Hant"), (["zh-CN", "de"], "de"), (["zh"], "en"), (["Base"], "en"),
    ])
    func `The first of the user's languages that the app has is used`(_ languages: [String], _ text: String) {
        #expect(localizations.text("k", for: languages) == text)
    }

    @Test func `A key that this language lacks is looked up only in Base`() {
        #expect(localizations.text("base", for: ["de"]) == "base")
        #expect(localizations.text("only-en", for: ["de"]) == nil)
    }

    @Test func `A folder with the languages of an app is read`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let language = folder.appendingPathComponent("de.lproj")
        try FileManager.default.createDirectory(at: language, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("fr.lproj"), withIntermediateDirectories: true)
        let file = language.appendingPathComponent("Localizable.strings")
        try Data(#""k" = "Hallo";"#.utf8).write(to: file)
        #expect(try Localizations(folder: folder.path).text("k", for: ["de"]) == "Hallo")
        try Data(#""k" = "#.utf8).write(to: file)
        let error = #expect(throws: DeviceError.self) { try Localizations(folder: folder.path) }
        #expect(error?.cause.contains("Localizable.strings, line 1") == true)
        #expect(throws: DeviceError.self) { try Localizations(folder: folder.path + "/nothing") }
    }
}
