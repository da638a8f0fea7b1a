import APNSProvider
import Foundation
import HTTPTypes
import Hummingbird
import Notifications
import ProviderStore

// Requests about messages, which backends send.
extension ProviderAPI {
    func addMessages(to router: Router<BasicRequestContext>) {
        router.post("/v1/messages") { request, _ in try await postMessage(request) }
        router.get("/v1/messages") { request, _ in try await listMessages(request) }
        router.get("/v1/messages/:id") { request, context in
            let (message, app) = try await message(request, context)
            return MessageView.show(message, bundleID: app.bundleID).response()
        }
        router.get("/v1/messages/:id/outcomes") { request, context in try await listOutcomes(request, context) }
        router.patch("/v1/messages/:id") { request, context in try await patchMessage(request, context) }
        for change in MessageChange.allCases {
            router.post(RouterPath("/v1/messages/:id/\(change.rawValue)")) { request, context in
                try await self.change(change, request, context)
            }
        }
    }

    // MARK: Sending

    private func postMessage(_ request: Request) async throws -> Response {
        // The key is checked before a large body is read.
        _ = try access.caller(of: request)
        let bytes = try await Self.bytes(request, upTo: ProviderServerLimits.bodyBytes)
        guard let value = JSONValue(bytes, maximumDepth: ProviderServerLimits.documentDepth) else {
            throw APIProblem.invalid("", "The body is not a JSON object.")
        }
        let document = try MessageDocument(value)
        let app = try access.sendingApp(request, bundleID: document.bundleID)
        if let environment = document.audience.environment, app.endpoints[environment] == nil {
            throw APIProblem.invalid("/audience/environment", "The app has no \(environment.rawValue) environment.")
        }
        if document.isDryRun { return try await dryRun(document, app) }
        let now = clock.now()
        let message = MessageRecord(
            id: UUID().uuidString.lowercased(), app: app.number, state: .scheduled, document: bytes, created: now,
            starts: try document.start(now: now), rate: document.rate)
        let stored = try await store.add(message, idempotency: try Self.idempotency(request, bytes))
        await desk.look()
        var response = MessageView.show(stored, bundleID: app.bundleID).response(.accepted)
        response.headers[.location] = "/v1/messages/\(stored.id)"
        return response
    }

    /// The identifier that the sender chose for the request
    /// (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/).
    private static func idempotency(_ request: Request, _ bytes: [UInt8]) throws(APIProblem) -> IdempotencyKey? {
        guard let name = request.headers[idempotencyHeader] else { return nil }
        let limit = ProviderServerLimits.idempotencyKeyBytes
        guard (1...limit).contains(name.utf8.count), DocumentReader.isLine(name) else {
            throw APIProblem(400, "The header Idempotency-Key has 1 to \(limit) bytes.")
        }
        return IdempotencyKey(name: name, digest: AccessKey.digest(String(decoding: bytes, as: UTF8.self)))
    }

    /// A static name, which is always allowed.
    private static let idempotencyHeader = HTTPField.Name("Idempotency-Key") ?? .ifMatch

    /// Answers how many recipients the message would have now, and what the first of them would receive.
    private func dryRun(_ document: MessageDocument, _ app: ProviderApp) async throws -> Response {
        var (count, samples): (Int64, [JSONValue]) = (0, [])
        for environment in Environment.sendingOrder where app.endpoints[environment] != nil {
            let query = RecipientQuery(
                app: app.number, message: 0, audience: document.audience, environment: environment)
            count += try await store.count(query)
            let left = ProviderServerLimits.samples - samples.count
            for recipient in try await store.recipients(query, limit: left) {
                samples.append(sample(recipient, document, app))
            }
        }
        return (["dryRun": true, "recipients": .integer(count), "samples": .array(samples)] as JSONValue).response()
    }

    private func sample(_ recipient: Recipient, _ document: MessageDocument, _ app: ProviderApp) -> JSONValue {
        var members: [String: JSONValue] = ["installation": .string(recipient.installation.id)]
        do {
            let notification = try document.notification(
                for: recipient.installation, of: app.bundleID, id: UUID())
            members["topic"] = .string(notification.topic)
            members["payload"] = JSONValue(notification.payload.json)
        } catch let error as MissingValue {
            members["fault"] = .string("There is no value for \(error.name).")
        } catch {
            members["fault"] = .string("\(error)")
        }
        return .object(members)
    }

    // MARK: One message

    /// Returns the message that the path names. A backend can only see messages of its own app.
    private func message(
        _ request: Request,
        _ context: BasicRequestContext,
    ) async throws -> (MessageRecord, ProviderApp) {
        let caller = try access.caller(of: request)
        let id = try Self.parameter("id", context)
        if case .client = caller {
            throw APIProblem(403, "The key of an app on devices may only register installations.")
        }
        guard let message = try await store.message(id), let app = apps.app(number: message.app) else {
            throw APIProblem.notFound("There is no message \(id).")
        }
        if case .server(let own) = caller, own.number != app.number {
            throw APIProblem.notFound("There is no message \(id).")
        }
        return (message, app)
    }

    private func change(
        _ change: MessageChange,
        _ request: Request,
        _ context: BasicRequestContext,
    ) async throws -> Response {
        let (message, app) = try await message(request, context)
        _ = try await store.changeMessage(message.id) { message in
            try change.apply(to: &message)
            return nil
        }
        if change == .resume {
            await desk.look()
        } else {
            // First wait for the answers to the notifications under way, so that the counts below are final. The wait
            // has a limit.
            await desk.stop(message.id)
        }
        guard let newest = try await store.message(message.id) else {
            throw APIProblem.notFound("There is no message \(message.id).")
        }
        return MessageView.show(newest, bundleID: app.bundleID).response()
    }

    /// Changes the rate.
    private func patchMessage(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let (message, app) = try await message(request, context)
        let value = try await Self.document(request, upTo: ProviderServerLimits.installationBytes)
        let reader = try DocumentReader(value, at: "", keys: ["rate"])
        let rate = try reader.integer("rate", 1...ProviderServerLimits.rate)
        let changed = try await store.changeMessage(message.id) { message in
            message.rate = rate
            return nil
        }
        await desk.setRate(rate, of: message.id)
        return MessageView.show(changed ?? message, bundleID: app.bundleID).response()
    }

    private func listMessages(_ request: Request) async throws -> Response {
        let bundleID = Self.query("bundleID", request)
        var number: Int64?
        if case .administrator = try access.caller(of: request), bundleID == nil {
            number = nil
        } else {
            number = try access.sendingApp(request, bundleID: bundleID).number
        }
        let (limit, before) = try Self.page(request)
        let page = try await store.messages(app: number, before: before, limit: limit)
        let items = page.map { MessageView.show($0, bundleID: apps.app(number: $0.app)?.bundleID ?? "") }
        return Self.list(items, next: page.count == limit ? page.last?.number : nil)
    }

    private func listOutcomes(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let (message, _) = try await message(request, context)
        let reason = Self.query("reason", request)
        if let form = ListForm(request.headers[.accept]) { return exportOutcomes(form, of: message, reason: reason) }
        let (limit, after) = try Self.page(request)
        let page = try await store.outcomes(
            of: message.number, reason: reason, after: after ?? 0, limit: limit)
        return Self.list(
            page.map { MessageView.show($0, of: message.id) },
            next: page.count == limit ? page.last?.outcome.installation : nil)
    }
}
