import Delivery
import Notifications

/// The registrations and mailboxes of a part of the devices. Each operation that has to be atomic is one method.
struct DeviceShard: Sendable {
    private struct Device: Sendable {
        var registrations: [AppID: Registration] = [:]
        var mailboxes: [AppID: StoredMailboxEntry] = [:]
    }

    private var devices: [DeviceKey: Device] = [:]
    /// The devices that have, or had, a registration of an app.
    private var devicesOfApps: [AppID: Set<DeviceKey>] = [:]
    private var mailboxCount = 0
    /// The expirations of mailboxes. Each entry names the version that the mailbox had when the entry was added.
    private var expiries = ExpiryQueue<MailboxReference>()
    private var lastVersion: UInt64 = 0

    /// The number of entries in the queue of expirations.
    var expiryCount: Int { expiries.count }

    // MARK: Mailboxes

    /// - Parameter now: the time that the error contains if there is no registration.
    /// - Returns: The new version, and the notification that it replaced, if there was another one.
    mutating func store(
        _ entry: MailboxEntry,
        at now: Timestamp,
    ) throws(StoreError) -> (version: MailboxVersion, replaced: EndedNotification?) {
        let registration = registration(of: entry.destination)
        guard let registration, registration.isActive else { throw .ended(at: registration?.changed ?? now) }
        lastVersion += 1
        let stored = StoredMailboxEntry(entry: entry, version: MailboxVersion(rawValue: lastVersion))
        let held = devices[entry.destination.deviceKey, default: Device()].mailboxes
            .updateValue(stored, forKey: entry.destination.app)
        if held == nil { mailboxCount += 1 }
        let reference = MailboxReference(destination: entry.destination, version: stored.version)
        expiries.insert(reference, expires: entry.expires)
        if expiries.isMostlyStale(live: mailboxCount) { renewExpiries() }
        guard let held, held.entry.notification.id != entry.notification.id else { return (stored.version, nil) }
        let step = held.entry.notification.step(onReplacementBy: entry.notification)
        return (stored.version, EndedNotification(held, step))
    }

    /// Empties a mailbox if it holds the given version.
    /// - Returns: The removed notification; nil if the mailbox holds another version or nothing.
    mutating func remove(_ reference: MailboxReference) -> StoredMailboxEntry? {
        let (device, app) = (reference.destination.deviceKey, reference.destination.app)
        guard let held = devices[device]?.mailboxes[app], held.version == reference.version else { return nil }
        empty(reference.destination)
        return held
    }

    func entries(of device: DeviceKey) -> [StoredMailboxEntry] {
        devices[device]?.mailboxes.values.sorted { $0.version < $1.version } ?? []
    }

    /// Removes notifications that expired before the given time, at most `limit`.
    mutating func removeExpired(before moment: Timestamp, limit: Int) -> [EndedNotification] {
        var expired: [EndedNotification] = []
        while expired.count < limit, let reference = expiries.popFirst(before: moment) {
            // The notification may have been replaced or removed since its entry was added.
            if let held = remove(reference) { expired.append(EndedNotification(held, .expired)) }
        }
        return expired
    }

    @discardableResult
    private mutating func empty(_ destination: Destination) -> StoredMailboxEntry? {
        let device = destination.deviceKey
        let held = devices[device]?.mailboxes.removeValue(forKey: destination.app)
        if held != nil { mailboxCount -= 1 }
        if devices[device].map({ $0.mailboxes.isEmpty && $0.registrations.isEmpty }) ?? false {
            devices[device] = nil
        }
        return held
    }

    private mutating func renewExpiries() {
        expiries = ExpiryQueue(
            devices.values.lazy.flatMap(\.mailboxes.values).map { stored in
                let reference = MailboxReference(destination: stored.entry.destination, version: stored.version)
                return (moment: stored.entry.expires, element: reference)
            })
    }

    // MARK: Registrations

    func registration(of destination: Destination) -> Registration? {
        devices[destination.deviceKey]?.registrations[destination.app]
    }

    func registrations(of device: DeviceKey) -> [AppID: Registration] { devices[device]?.registrations ?? [:] }

    /// Adds the devices that have a registration to a page.
    func addDevices(to page: inout FirstInOrder<DeviceID>, in environment: Environment, after device: DeviceID?) {
        for (key, value) in devices where key.environment == environment && !value.registrations.isEmpty {
            if device.map({ $0 < key.device }) ?? true { page.insert(key.device) }
        }
    }

    /// - Returns: nil if the device has no registration.
    func listed(_ key: DeviceKey) -> ListedDevice? {
        guard let device = devices[key], !device.registrations.isEmpty else { return nil }
        let apps = device.registrations.sorted { $0.key.rawValue < $1.key.rawValue }.map { app, registration in
            ListedApp(app: app, registration: registration, stored: device.mailboxes[app]?.version)
        }
        return ListedDevice(key: key, apps: apps)
    }

    /// - Returns: The active registration, and whether this call activated it.
    mutating func register(
        _ destination: Destination,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) -> (registration: Registration, isBack: Bool) {
        guard var registration = registration(of: destination) else {
            let first = Registration(firstSealedWith: tokenKeyID, at: moment)
            set(first, of: destination)
            return (first, false)
        }
        guard registration.setActive(true, at: moment) else { return (registration, false) }
        set(registration, of: destination)
        return (registration, true)
    }

    /// - Returns: The registration, and the notification in its mailbox; nil if there never was a registration.
    mutating func end(
        _ destination: Destination,
        at moment: Timestamp,
    ) -> (registration: Registration, discarded: EndedNotification?)? {
        guard var registration = registration(of: destination) else { return nil }
        if registration.setActive(false, at: moment) { set(registration, of: destination) }
        return (registration, empty(destination).map { EndedNotification($0, .discarded(.unregistered)) })
    }

    /// - Returns: The notifications that were in the mailboxes. Nil if an app has used its last generation; nothing
    ///   was changed then.
    mutating func renewTokens(
        of device: DeviceKey,
        tokenKeyID: UInt32,
        at moment: Timestamp,
    ) -> [EndedNotification]? {
        var renewed = registrations(of: device)
        for app in renewed.keys {
            guard renewed[app]?.renewToken(tokenKeyID: tokenKeyID, at: moment) == true else { return nil }
        }
        var discarded: [EndedNotification] = []
        for (app, registration) in renewed {
            let destination = Destination(environment: device.environment, device: device.device, app: app)
            set(registration, of: destination)
            if let held = empty(destination) { discarded.append(EndedNotification(held, .discarded(.unregistered))) }
        }
        return discarded
    }

    private mutating func set(_ registration: Registration, of destination: Destination) {
        let before = devices[destination.deviceKey, default: Device()].registrations
            .updateValue(registration, forKey: destination.app)
        if before == nil { devicesOfApps[destination.app, default: []].insert(destination.deviceKey) }
    }

    /// Removes at most `limit` registrations of the given apps, with their mailboxes.
    mutating func removeOrphaned(
        limit: Int,
        where condition: (AppID) -> Bool,
    ) -> (removed: Int, discarded: [EndedNotification]) {
        var removed = 0
        var discarded: [EndedNotification] = []
        for app in devicesOfApps.keys where condition(app) {
            while removed < limit, let device = devicesOfApps[app]?.popFirst() {
                removed += 1
                devices[device]?.registrations[app] = nil
                let destination = Destination(environment: device.environment, device: device.device, app: app)
                if let held = empty(destination) {
                    discarded.append(EndedNotification(held, .discarded(.unregistered)))
                }
            }
            if devicesOfApps[app]?.isEmpty ?? false { devicesOfApps[app] = nil }
        }
        return (removed, discarded)
    }
}
