import Foundation

/// An app's texts in the languages that it knows: its `Localizable.strings` files (Guide, 2.2.4.2).
public struct Localizations: Sendable, Hashable {
    /// Looked into after the language's own table, as an app's `Base.lproj` is.
    public static let base = "Base"

    private let tables: [String: StringsTable]
    private let developmentLanguage: String

    /// - Parameters:
    ///   - tables: by language, such as `de` or `pt-BR`.
    ///   - developmentLanguage: used where the app knows none of the user's languages.
    public init(_ tables: [String: StringsTable] = [:], developmentLanguage: String = "en") {
        self.tables = Dictionary(tables.map { (Self.canonical($0.key), $0.value) }) { first, _ in first }
        self.developmentLanguage = Self.canonical(developmentLanguage)
    }

    /// Reads a folder as an app has it: `de.lproj/Localizable.strings` and so on.
    public init(folder: String, developmentLanguage: String = "en") throws(DeviceError) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".lproj") }
        } catch {
            throw DeviceError(.storage, "The folder \(folder) cannot be read.")
        }
        var tables: [String: StringsTable] = [:]
        for name in names {
            let path = "\(folder)/\(name)/Localizable.strings"
            // A language may have other files only.
            guard let data = FileManager.default.contents(atPath: path) else { continue }
            do throws(StringsTable.ParseError) {
                tables[String(name.dropLast(".lproj".count))] = try StringsTable(bytes: Array(data))
            } catch {
                throw DeviceError(.storage, "\(path), \(error)")
            }
        }
        self.init(tables, developmentLanguage: developmentLanguage)
    }

    /// The text of a key in the one language that fits the user best, as the system looks it up.
    ///
    /// The first of the user's languages that the app knows decides: as it is written, then without its region or
    /// script, then any variety of the same language. A key that is missing there is looked up in `Base`, nowhere else:
    /// a sentence in another language than the rest would be worse than the key.
    public func text(_ key: String, for languages: [String]) -> String? {
        language(for: languages).flatMap { tables[$0]?[key] } ?? tables[Self.canonical(Self.base)]?[key]
    }

    /// The language that is used.
    func language(for languages: [String]) -> String? {
        for wanted in languages.map(Self.canonical) {
            var tag = wanted
            while true {
                if tables[tag] != nil { return tag }
                guard let hyphen = tag.lastIndex(of: "-") else { break }
                tag = String(tag[..<hyphen])
            }
            let relatives = tables.keys.filter { $0.hasPrefix(tag + "-") }.sorted()
            if let relative = relatives.first { return relative }
        }
        return tables[developmentLanguage] == nil ? nil : developmentLanguage
    }

    private static func canonical(_ language: String) -> String {
        language.replacingOccurrences(of: "_", with: "-").lowercased()
    }
}
