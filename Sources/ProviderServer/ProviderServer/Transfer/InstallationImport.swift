import Foundation
import HTTPAPI
import Notifications
import CampaignStore

/// Reads installations from a file with one on each line. A bad line is reported and not imported.
struct InstallationImport {
    private let app: ProviderApp
    private let form: ListForm
    private let now: Timestamp
    private var reader: RowReader
    private var header: [String]?
    /// Whether the header cannot be used. Then no line can be read.
    private var isHeaderBad = false
    private(set) var report = ProviderMessages.ImportReport()
    private var batch: [Installation] = []

    init(_ form: ListForm, of app: ProviderApp, now: Timestamp) {
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
        return removeBatch()
    }

    mutating func finish() -> [Installation] {
        var rows: [RowReader.Row] = []
        reader.finish { rows.append($0) }
        for row in rows { add(row) }
        return removeBatch()
    }

    private mutating func removeBatch() -> [Installation] {
        defer { batch = [] }
        return batch
    }

    mutating func stored(_ count: Int) { report.imported += count }

    private mutating func add(_ row: RowReader.Row) {
        guard !isHeaderBad else {
            report.bad += row.lines
            return
        }
        do throws(Problem) {
            guard var text = row.text else {
                throw Problem(400, "The line is longer than \(ProviderServerLimits.installationBytes) bytes.")
            }
            if row.line == 1 { text = JSONValue.withoutMark(text) }
            guard let document = try document(text) else { return }
            batch.append(try installation(document))
        } catch {
            var problem = error
            if form == .csv, header == nil {
                isHeaderBad = true
                problem.detail += " Without a header, no line is imported."
            } else if row.lines > 1 {
                // A quotation mark that is not closed takes the following lines with it.
                // fits: more than 1
                problem.detail += " The \(row.lines - 1) lines after it belong to it, and are not imported either."
            }
            report.bad += row.lines
            if report.badLines.count < APILimits.listItems {
                report.badLines.append(
                    ProviderMessages.BadLine(line: row.line, detail: problem.detail, pointer: problem.pointer))
            }
        }
    }

    /// - Returns: nil for the header of CSV.
    private mutating func document(_ text: [UInt8]) throws(Problem) -> JSONValue? {
        guard form == .csv else {
            do throws(JSONFault) {
                return try JSONValue(document: text, maximumDepth: APILimits.documentDepth)
            } catch {
                throw .invalid(error.pointer, error.detail(of: "The line"))
            }
        }
        // A spreadsheet may write another encoding. Letters would be lost without a word.
        guard String(validating: text, as: UTF8.self) != nil else {
            throw .invalid("", "The line is not UTF-8: store the file as CSV UTF-8.")
        }
        guard let fields = CSVRow.fields(text) else {
            throw .invalid("", "A quotation mark in the line is missing or misplaced.")
        }
        guard let header else {
            try Self.check(header: fields)
            header = fields
            return nil
        }
        return .object(try Self.members(fields, header))
    }

    private static func check(header: [String]) throws(Problem) {
        let columns = InstallationColumn.members.map(\.name)
        for name in header where !InstallationColumn.all.contains(where: { $0.name == name }) {
            throw .invalid(
                "",
                "The column \(name.debugDescription) is unknown; there may be \(columns.joined(separator: ", ")), with commas "
                    + "between them.")
        }
        guard Set(header).count == header.count else { throw .invalid("", "A column is there twice.") }
        guard header.contains("id"), header.contains("deviceToken") else {
            throw .invalid("", "There have to be the columns id and deviceToken.")
        }
    }

    /// Makes the members of the JSON that describes the installation in a row.
    private static func members(_ fields: [String], _ header: [String]) throws(Problem) -> JSONMembers {
        guard fields.count == header.count else {
            throw .invalid("", "The line has \(fields.count) fields; the header has \(header.count).")
        }
        var members = JSONMembers()
        var ended = JSONMembers()
        // An empty field is a missing member. But without the member appTags, some of the tags may be the app's.
        for (name, field) in zip(header, fields.map(CSVRow.unmarked)) where !field.isEmpty || name == "appTags" {
            switch name {
            case "endedAt": ended["at"] = .string(field)
            case "endReason": ended["reason"] = .string(field)
            default: break
            }
            guard name != "endedAt", name != "endReason" else { continue }
            if name == "tokens" {
                // Words such as voip=00fc and activity/order-17=00fd.
                let tokens = ServiceTokens(words: field.split(separator: " ").map(String.init))
                members["tokens"] = .object(tokens.services.mapValues(JSONValue.string))
                members["activities"] = .object(tokens.activities.mapValues(JSONValue.string))
                continue
            }
            if name == "badge", let number = Int64(field) {
                members[name] = .integer(number)
                continue
            }
            let isList = InstallationColumn.members.contains { $0.name == name && $0.isList }
            members[name] = isList ? .array(field.split(separator: " ").map { .string(String($0)) }) : .string(field)
        }
        if !ended.isEmpty { members["ended"] = .object(ended) }
        return members
    }

    private func installation(_ value: JSONValue) throws(Problem) -> Installation {
        guard case .object(var members) = value else { throw .invalid("", "The line is not a JSON object.") }
        guard case .string(let id)? = members.removeValue(forKey: "id"), TextFormat.installation.allows(id) else {
            throw .invalid("/id", "The value has to be \(TextFormat.installation.name).")
        }
        let history = try history(members)
        let added = try time("createdAt", try DocumentReader(.object(members), at: "", keys: nil))
        for name in ["registeredAt", "createdAt", "changedAt", "ended"] { members[name] = nil }
        let document = try ProviderMessages.InstallationRequest(.object(members))
        let bundleID = try document.bundleID
        guard bundleID == nil || bundleID == app.bundleID else {
            throw .invalid("/bundleID", "The file is imported into the app \(app.bundleID).")
        }
        var installation = try document.installation(id, registered: history.registered, now: now)
        installation.end = history.end
        installation.created = added ?? (history.registered.milliseconds > 0 ? history.registered : now)
        try app.checkEnvironment(installation.environment)
        return installation
    }

    /// Reads when the installation was registered, and when and why it ended. An import is no registration by the app, so
    /// without a time of registration every 410 ends the installation (Guide, Table 8-5).
    private func history(
        _ members: JSONMembers,
    ) throws(Problem) -> (registered: Timestamp, end: Installation.End?) {
        let reader = try DocumentReader(.object(members), at: "", keys: nil)
        let registered = try time("registeredAt", reader) ?? Timestamp(milliseconds: 0)
        guard let ended = try reader.object("ended", keys: ["at", "reason"]) else { return (registered, nil) }
        let end = Installation.End(
            at: try ended.required("at", try time("at", ended)),
            reason: try ended.required("reason", try ended.read("reason", .text(.shortLine))))
        return (registered, end)
    }

    /// A time in the future counts as now: it would let the installation outlast every 410.
    private func time(_ key: String, _ reader: DocumentReader) throws(Problem) -> Timestamp? {
        try reader.read(key, .time()).map { min($0, now) }
    }
}
