import Delivery
import Notifications

/// A hash table of registrations: 40 bytes each in a row, and 4 bytes for each place that points to a row.
///
/// Open addressing by device, so that the apps of a device stand next to each other and are found together. Nothing is
/// ever removed: a registration that ended is still one.
struct RegistrationShard {
    fileprivate struct Row {
        let device: UInt64
        var tokenSince: UInt64
        var changed: UInt64
        let app: UInt32
        var generation: UInt32
        var tokenKeyID: UInt32
        let environment: Environment
        var isActive: Bool
    }

    private var rows: [Row] = []
    /// Numbers of rows, counted from 1; 0 is a free place. Their number is a power of two, and at least a quarter of
    /// them is free.
    private var places: [UInt32]

    init(capacity: Int) {
        rows.reserveCapacity(capacity)
        var count = 16
        while count / 4 * 3 < capacity { count *= 2 }
        places = Array(repeating: 0, count: count)
    }

    var count: Int { rows.count }

    func registration(of destination: Destination, hash: UInt64) -> Registration? {
        let place = place(of: destination, hash: hash)
        return places[place] == 0 ? nil : rows[Int(places[place]) - 1].registration
    }

    func registrations(of device: DeviceKey, hash: UInt64) -> [AppID: Registration] {
        var registrations: [AppID: Registration] = [:]
        var place = firstPlace(hash)
        while places[place] != 0 {
            let row = rows[Int(places[place]) - 1]
            if row.belongs(to: device) { registrations[AppID(rawValue: row.app)] = row.registration }
            place = nextPlace(place)
        }
        return registrations
    }

    mutating func set(_ registration: Registration, of destination: Destination, hash: UInt64) {
        let place = place(of: destination, hash: hash)
        let row = Row(destination, registration)
        guard places[place] == 0 else {
            rows[Int(places[place]) - 1] = row
            return
        }
        rows.append(row)
        places[place] = UInt32(rows.count)
        if rows.count > places.count / 4 * 3 { grow() }
    }

    // MARK: Places

    private func firstPlace(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (places.count - 1) }
    private func nextPlace(_ place: Int) -> Int { (place + 1) & (places.count - 1) }

    /// Where the destination's row is, or the free place where it would be.
    private func place(of destination: Destination, hash: UInt64) -> Int {
        var place = firstPlace(hash)
        while places[place] != 0 {
            let row = rows[Int(places[place]) - 1]
            if row.app == destination.app.rawValue, row.belongs(to: destination.deviceKey) { break }
            place = nextPlace(place)
        }
        return place
    }

    private mutating func grow() {
        places = Array(repeating: 0, count: places.count * 2)
        for index in rows.indices {
            var place = firstPlace(RegistrationTable.hash(rows[index].deviceKey))
            while places[place] != 0 { place = nextPlace(place) }
            places[place] = UInt32(index + 1)
        }
    }
}

extension RegistrationShard.Row {
    init(_ destination: Destination, _ registration: Registration) {
        device = destination.device.rawValue
        tokenSince = registration.tokenSince.milliseconds
        changed = registration.changed.milliseconds
        app = destination.app.rawValue
        generation = registration.generation
        tokenKeyID = registration.tokenKeyID
        environment = destination.environment
        isActive = registration.isActive
    }

    var deviceKey: DeviceKey { DeviceKey(environment: environment, device: DeviceID(rawValue: device)) }

    func belongs(to key: DeviceKey) -> Bool { device == key.device.rawValue && environment == key.environment }

    var registration: Registration {
        Registration(
            generation: generation,
            tokenKeyID: tokenKeyID,
            tokenSince: Timestamp(milliseconds: tokenSince),
            isActive: isActive,
            changed: Timestamp(milliseconds: changed),
        )
    }
}
