import APNSDevice
import Foundation
import Logging
import Notifications

/// Shows notifications through the desktop's own service, `org.freedesktop.Notifications` (the Desktop Notifications
/// Specification, version 1.2).
actor DesktopNotifications: Desktop {
    static let name = "org.freedesktop.Notifications"
    static let path = "/org/freedesktop/Notifications"
    /// The action of a click on the notification itself, and the prefix of the category's actions.
    static let defaultAction = "default"
    static let actionPrefix = "category:"
    /// So many responses wait. The user does not respond faster than they are read.
    private static let maximumResponses = 100

    /// A notification that the desktop shows.
    private struct Entry {
        let id: String
        let bundleID: String
        let collapseID: String?
    }

    private struct Pending {
        let id: String
        /// The app has removed it before the desktop answered.
        var isRemoved = false
        /// What the user did with numbers that are not known yet. The answer comes first on the connection, but is not
        /// always handled first.
        var responses: [Response] = []
    }

    /// The user has chosen an action of the notification with this number, or dismissed it: nil.
    private typealias Response = (number: UInt32, action: String?)

    private let address: String
    /// The user's languages, the preferred one first.
    private let languages: [String]
    private let logger: Logger
    /// Called when the user responds.
    private let respond: @Sendable (String, NotificationResponse) async -> Void
    private var connection: BusConnection?
    private var signals: Task<Void, Never>?
    private var isBodyMarkup = false
    /// The desktop's numbers, the oldest first.
    private var order: [UInt32] = []
    private var entries: [UInt32: Entry] = [:]
    /// The notification that the desktop was asked to show and has no number for yet.
    private var pending: Pending?
    private var isReported = false

    init(
        address: String,
        languages: [String],
        logger: Logger,
        respond: @escaping @Sendable (String, NotificationResponse) async -> Void,
    ) {
        (self.address, self.languages, self.logger, self.respond) = (address, languages, logger, respond)
    }

    /// The address of the user's bus; nil if there is none (the D-Bus Specification, "Well-known Message Bus Instances").
    static func sessionAddress(_ environment: [String: String]) -> String? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return address }
        guard let folder = environment["XDG_RUNTIME_DIR"], FileManager.default.fileExists(atPath: folder + "/bus")
        else {
            return nil
        }
        return "unix:path=\(folder)/bus"
    }

    // MARK: Desktop

    /// The agent shows one notification after the other.
    func show(_ shown: ShownNotification, of app: DesktopApp) async {
        pending = Pending(id: shown.id)
        do {
            let connection = try await connected()
            let earlier = number(replacedBy: shown)
            var answer = try await connection.call(
                .notify(
                    shown, of: app, replacing: earlier ?? 0, isBodyMarkup: isBodyMarkup, languages: languages))
            guard let number = answer.number() else { throw BusError("the desktop's answer cannot be read") }
            if let earlier { forget(earlier) }
            entries[number] = Entry(id: shown.id, bundleID: shown.bundleID, collapseID: shown.notification.collapseID)
            order.append(number)
            if order.count > NotificationCentre.maximumCount { forget(order[0]) }
            isReported = false
        } catch {
            report(error)
        }
        guard let answered = pending else { return }
        pending = nil
        for response in answered.responses { await handle(response) }
        if answered.isRemoved { await remove(shown.id) }
    }

    func setBadge(_ badge: Int, of app: DesktopApp) async {
        guard let message = BusMessage.badge(badge, of: app) else { return }
        do {
            let connection = try await connected()
            try await connection.send(message)
        } catch {
            report(error)
        }
    }

    func remove(_ id: String) async {
        if pending?.id == id { pending?.isRemoved = true }
        guard let number = entries.first(where: { $0.value.id == id })?.key else { return }
        forget(number)
        // A later connection may be to another service, to which the number means another notification.
        guard let connection, connection.isOpen else { return }
        do {
            var message = BusMessage.call(Self.name, Self.path, Self.name, "CloseNotification")
            message.signature = "u"
            message.body.write(number)
            _ = try await connection.call(message)
        } catch {
            report(error)
        }
    }

    func close() async {
        connection?.close()
        signals?.cancel()
    }

    /// The notification that this one replaces: the same one, or one with the same collapse identifier.
    private func number(replacedBy shown: ShownNotification) -> UInt32? {
        entries.first { _, entry in
            guard entry.bundleID == shown.bundleID else { return false }
            return entry.id == shown.id
                || shown.notification.collapseID.map { entry.collapseID.isSame(as: $0) } ?? false
        }?.key
    }

    private func forget(_ number: UInt32) {
        entries[number] = nil
        order.removeAll { $0 == number }
    }

    /// Says once that the desktop cannot be used.
    private func report(_ error: any Error) {
        guard !isReported else { return }
        isReported = true
        logger.warning("An alert cannot be shown on the desktop", metadata: ["cause": "\(error)"])
    }

    // MARK: The bus

    private func connected() async throws -> BusConnection {
        if let connection, connection.isOpen { return connection }
        signals?.cancel()
        // The desktop's numbers were those of another connection's notification service.
        (entries, order) = ([:], [])
        let (stream, arrived) = AsyncStream.makeStream(
            of: Response.self, bufferingPolicy: .bufferingNewest(Self.maximumResponses))
        let opened = try await BusConnection.open(address) { message, body in
            guard message.interface == Self.name, let member = message.member else { return }
            var body = body
            guard let number = body.number() else { return }
            switch member {
            case "ActionInvoked": if let action = body.text() { arrived.yield((number, action)) }
            // The reason 2 is a user who dismisses it. Others leave it in the notification centre.
            case "NotificationClosed": if body.number() == 2 { arrived.yield((number, nil)) }
            default: break
            }
        }
        do {
            try await introduce(to: opened)
        } catch {
            // Nobody else would close it.
            opened.close()
            throw error
        }
        connection = opened
        signals = Task { [weak self] in
            for await response in stream { await self?.handle(response) }
        }
        return opened
    }

    /// Asks for the responses of users, and what the desktop can show.
    private func introduce(to bus: BusConnection) async throws {
        var match = BusMessage.call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch")
        match.signature = "s"
        // The bus passes on only what the owner of the name has sent.
        match.body.write("type='signal',sender='\(Self.name)',path='\(Self.path)',interface='\(Self.name)'")
        _ = try await bus.call(match)
        var capabilities = try await bus.call(.call(Self.name, Self.path, Self.name, "GetCapabilities"))
        isBodyMarkup = capabilities.texts()?.contains("body-markup") == true
    }

    private func handle(_ response: Response) async {
        guard let entry = entries[response.number] else {
            if let pending, pending.responses.count < Self.maximumResponses { self.pending?.responses.append(response) }
            return
        }
        forget(response.number)
        switch response.action {
        case nil: await respond(entry.id, .dismiss)
        case Self.defaultAction: await respond(entry.id, .open)
        case let action?: await respond(entry.id, .action(String(action.dropFirst(Self.actionPrefix.count))))
        }
    }
}
