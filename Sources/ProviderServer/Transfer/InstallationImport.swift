import Foundation
import Notifications
import ProviderStore

/// Reads installations from a file with one on each line. A bad line is reported and not imported.
struct InstallationImport {
    /// What is wrong with a line.
    private struct BadLine {
        let line: Int
        let problem: APIProblem
    }

    /// The columns of CSV. Languages and tags are separated by spaces.
    static let columns = [
        "id", "deviceToken", "environment", "languages", "timeZone", "user", "tags", "appVersion",
    ]

    /// Columns that only an export has. An import ignores them.
    static let exportedColumns = ["registeredAt", "endedAt", "endReason"]

    private let app: ProviderApp
    private let form: RowReader.Form
    private let now: Timestamp
    private var reader: RowReader
    private var header: [String]?
    private var bad: [BadLine] = []
    private var badCount = 0
    private var imported = 0
    private var batch: [Installation] = []

    init(_ form: RowReader.Form, of app: ProviderApp, now: Timestamp) {
        self.form = form
        self.app = app
        self.now = now
        reader = RowReader(form, maximumBytes: ProviderServerLimits.installationBytes)
    }

    /// Reads a part of the file. Returns the installations that can be stored.
    mutating func read(_ bytes: some Sequence<UInt8>) -> [Installation] {
        var rows: [RowReader.Row] = []
        reader.read(bytes) { rows.append($0) }
        for row in rows { add(row) }
        return take()
    }

    mutating func finish() -> [Installation] {
        var rows: [RowReader.Row] = []
        reader.finish { rows.append($0) }
        for row in rows { add(row) }
        return take()
    }

    private mutating func take() -> [Installation] {
        defer { batch = [] }
        return batch
    }

    mutating func stored(_ count: Int) { imported += count }

    private mutating func add(_ row: RowReader.Row) {
        do throws(APIProblem) {
            guard let text = row.text else {
                throw APIProblem(400, "The line is longer than \(ProviderServerLimits.installationBytes) bytes.")
            }
            guard let document = try document(text) else { return }
            batch.append(try installation(document))
        } catch {
            badCount += 1
            if bad.count < ProviderServerLimits.listItems { bad.append(BadLine(line: row.line, problem: error)) }
        }
    }

    /// - Returns: nil for the header of CSV.
    private mutating func document(_ text: [UInt8]) throws(APIProblem) -> JSONValue? {
        guard form == .csv else {
            guard let value = JSONValue(text, maximumDepth: ProviderServerLimits.documentDepth) else {
                throw .invalid("", "The line is not a JSON object.")
            }
            return value
        }
        // A spreadsheet may write another encoding. Letters would be lost without a word.
        guard String(validating: text, as: UTF8.self) != nil else {
            throw .invalid("", "The line is not UTF-8: store the file as CSV UTF-8.")
        }
        // Spreadsheets begin a file in UTF-8 with a mark.
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        guard let fields = CSVRow.fields(header == nil && text.starts(with: mark) ? Array(text.dropFirst(3)) : text)
        else {
            throw .invalid("", "A quotation mark in the line is missing or misplaced.")
        }
        guard let header else {
            for name in fields where !(Self.columns + Self.exportedColumns).contains(name) {
                throw .invalid(
                    "",
                    "The column \(name.debugDescription) is unknown; there may be \(Self.columns.joined(separator: ", "))."
                )
            }
            header = fields
            return nil
        }
        guard fields.count == header.count else {
            throw .invalid("", "The line has \(fields.count) fields; the header has \(header.count).")
        }
        var members: [String: JSONValue] = [:]
        for (name, field) in zip(header, fields.map(CSVRow.unmarked))
        where !field.isEmpty && Self.columns.contains(name) {
            let isList = name == "languages" || name == "tags"
            members[name] = isList ? .array(field.split(separator: " ").map { .string(String($0)) }) : .string(field)
        }
        return .object(members)
    }

    private func installation(_ value: JSONValue) throws(APIProblem) -> Installation {
        guard case .object(var members) = value else { throw .invalid("", "The line is not a JSON object.") }
        guard case .string(let id)? = members.removeValue(forKey: "id"), InstallationDocument.isIdentifier(id) else {
            throw .invalid(
                "/id", "The value has to be 1 to \(ProviderServerLimits.identifierBytes) letters, digits and - _ .")
        }
        // Remove the members that only an export has.
        for name in ["registeredAt", "changedAt", "ended"] { members[name] = nil }
        let document = try InstallationDocument(.object(members))
        let bundleID = try document.bundleID
        guard bundleID == nil || bundleID == app.bundleID else {
            throw .invalid("/bundleID", "The file is imported into the app \(app.bundleID).")
        }
        let installation = try document.installation(id, registered: now, now: now)
        guard app.endpoints[installation.environment] != nil else {
            throw .invalid("/environment", "The app has no \(installation.environment.rawValue) environment.")
        }
        return installation
    }

    /// The report: the number of imported installations, and the first bad lines.
    var report: JSONValue {
        let lines = bad.map { bad -> JSONValue in
            var members: [String: JSONValue] = [
                "line": .integer(Int64(bad.line)), "detail": .string(bad.problem.detail),
            ]
            members["pointer"] = bad.problem.pointer.map(JSONValue.string)
            return .object(members)
        }
        return ["imported": .integer(Int64(imported)), "bad": .integer(Int64(badCount)), "badLines": .array(lines)]
    }
}
