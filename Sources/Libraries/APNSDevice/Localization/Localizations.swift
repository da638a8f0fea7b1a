import Foundation
import Notifications

/// An app's texts in its languages: its `Localizable.strings` files (Guide, 2.2.4.2).
public struct Localizations: Sendable, Hashable {
    /// The name of the table that is searched after the language's own table, like an app's `Base.lproj`.
    public static let base = "Base"

    private let tables: [String: StringsTable]
    private let base: StringsTable?
    private let matcher: LanguageMatcher
    private let developmentLanguage: String?

    /// Creates localizations.
    /// - Parameters:
    ///   - tables: the tables by language, such as `de` or `pt-BR`.
    ///   - developmentLanguage: the language to use if the app has none of the user's languages.
    public init(_ tables: [String: StringsTable] = [:], developmentLanguage: String = "en") {
        var tables = tables
        let base = tables.keys.first { $0.lowercased() == Self.base.lowercased() }
        self.base = base.flatMap { tables.removeValue(forKey: $0) }
        matcher = LanguageMatcher(tables.keys)
        self.developmentLanguage = matcher.best(for: [developmentLanguage])
        self.tables = tables
    }

    /// Reads an app's folder with files such as `de.lproj/Localizable.strings`.
    /// - Throws: ``DeviceError/Code/storage`` if the folder cannot be read or a file is not a table.
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

    /// Returns the text of a key in the language that fits the user best, by the same rules as the system.
    ///
    /// The first of the user's languages that the app has is used: in its full form, otherwise without its region, otherwise
    /// in the nearest variant of the same language, and always in the same script: the script of `zh-TW` is that of
    /// `zh-Hant`, as CLDR has it. If the key is missing there, only `Base` is searched: a
    /// sentence in a different language than the rest would be worse than the key.
    /// - Returns: nil if the key was not found.
    public func text(_ key: String, for languages: [String]) -> String? {
        language(for: languages).flatMap { tables[$0]?[key] } ?? base?[key]
    }

    /// Returns the language to use.
    func language(for languages: [String]) -> String? { matcher.best(for: languages) ?? developmentLanguage }
}
