import CampaignStore
import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird
import NIOCore
import Notifications
import Storage

// Import and export of whole lists, as CSV or as one JSON object on each line.
extension ProviderServerAPI {
    static let exportFormat = Parameter.query(
        "format", .string(.oneOf(ListForm.allCases.map(\.fileExtension))), "The same as the header Accept.")

    static let transferOperations: [ProviderOperation] = [
        ProviderOperation(
            method: .post, path: "/v1/installations/import", summary: "Import a file of installations",
            parameters: Parameter.app, body: Body(streamed: ListForm.allCases.map(\.rawValue)),
            answer: .json(ProviderMessages.ImportReport.schema), problems: [404, 415]
        ) { api, call in
            try await api.importInstallations(call)
        }
    ]

    private func importInstallations(_ call: ProviderCall) async throws -> Response {
        let request = call.request
        let app = try access.sendingApp(call)
        guard let form = ListForm(request.headers[.contentType]) else {
            throw Problem(
                415, "The body has to be \(ListForm.allCases.map(\.rawValue).joined(separator: " or ")).")
        }
        var reader = InstallationImport(form, of: app, now: clock.now())
        do {
            for try await part in request.body { try await store(reader.read(part.readableBytesView), app, &reader) }
            try await store(reader.finish(), app, &reader)
        } catch let error as StoreError {
            // The file has any length, so it is stored in parts. Say how much is stored; the import can be repeated.
            return Response(Problem(error), with: reader.report.json.members)
        }
        return .json(reader.report)
    }

    private func store(
        _ installations: [Installation], _ app: ProviderApp, _ reader: inout InstallationImport
    ) async throws {
        try await store.importInstallations(installations, app: app.number)
        reader.stored(installations.count)
    }

    // MARK: Export

    /// Answers with all items of a list, page by page. It reads the next page only when the client has read the
    /// previous one.
    /// - Parameters:
    ///   - name: the name of the file in which a browser stores the answer.
    ///   - page: returns the items that follow an item's number, each with its own number; empty at the end.
    static func export<Item: Sendable>(
        _ form: ListForm,
        name: String,
        columns: [String],
        _ page: @escaping @Sendable (_ after: Int64) async throws -> [(number: Int64, item: Item)],
        fields: @escaping @Sendable (Item) -> [String],
        json: @escaping @Sendable (Item) -> JSONValue,
    ) -> Response {
        let body = ResponseBody { writer in
            if form == .csv { try await writer.write(ByteBuffer(string: CSVRow.text(columns))) }
            var after: Int64 = 0
            while true {
                let items = try await page(after)
                guard let last = items.last else { break }
                after = last.number
                let lines = items.map { form == .csv ? CSVRow.text(fields($0.item)) : json($0.item).text + "\n" }
                try await writer.write(ByteBuffer(string: lines.joined()))
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: form.rawValue + "; charset=utf-8", .cacheControl: "no-store",
                .contentDisposition: "attachment; filename=\"\(name).\(form.fileExtension)\"",
            ],
            body: body)
    }

    func exportInstallations(_ form: ListForm, of app: ProviderApp) -> Response {
        Self.export(
            form, name: "installations", columns: InstallationColumn.all.map(\.name)
        ) { after in
            let page = try await store.installations(
                app: app.number, after: after, limit: APILimits.listItems)
            return page.map { ($0.number, $0.installation) }
        } fields: { installation in
            InstallationColumn.all.map { $0.field(installation) }
        } json: {
            ProviderMessages.Installation($0, bundleID: app.bundleID).json
        }
    }

    func exportOutcomes(_ form: ListForm, of message: MessageRecord, _ filter: OutcomeFilter) -> Response {
        let columns = ProviderMessages.Outcome.schema.keys
        return Self.export(form, name: "outcomes-\(message.id)", columns: columns) { after in
            let page = try await store.outcomes(
                of: message.number, filter, after: after, limit: APILimits.listItems)
            return page.map { ($0.outcome.installation, ProviderMessages.Outcome($0, of: message.id).json) }
        } fields: { outcome in
            columns.map { column in outcome.members[column].map { $0.string ?? $0.text } ?? "" }
        } json: {
            $0
        }
    }
}
