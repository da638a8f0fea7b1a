import Delivery
import Notifications
import CommonTesting
import Testing

@testable import SQLiteStore
import SQLiteSupport

@Suite("The table of registrations")
struct RegistrationTableTests {
    private func registration(_ generation: UInt32) -> Registration {
        Registration(firstSealedWith: generation, at: Example.moment)
    }

    @Test
    func `While a table grows, all registrations are still found`() {
        let table = RegistrationTable()
        let destinations = (0..<20_000 as Range<UInt64>).map { Example.destination($0 / 3, app: UInt32($0 % 3)) }
        for (index, destination) in destinations.enumerated() {
            table.set(registration(UInt32(index)), of: destination)
        }
        #expect(table.count == destinations.count)
        let found = destinations.indices.allSatisfy { table[destinations[$0]] == registration(UInt32($0)) }
        #expect(found)
    }

    @Test
    func `Setting a registration again replaces it`() {
        let table = RegistrationTable()
        for keyID in 1...3 as ClosedRange<UInt32> { table.set(registration(keyID), of: Example.destination()) }
        #expect(table.count == 1)
        #expect(table[Example.destination()] == registration(3))
    }

    @Test
    func `A device may have any number of apps`() {
        let table = RegistrationTable()
        for app in 0..<300 as Range<UInt32> {
            table.set(registration(app), of: Example.destination(1, app: app))
            table.set(registration(app), of: Example.destination(UInt64(app) + 2, app: 7))
        }
        let registrations = table.registrations(of: Example.destination(1).deviceKey)
        #expect(registrations.count == 300)
        #expect(registrations[AppID(rawValue: 299)] == registration(299))
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `After any removal, all others are still found`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let table = RegistrationTable()
        var model: [Destination: Registration] = [:]
        let destinations = (0..<400 as Range<UInt64>).map { Example.destination($0 / 4, app: UInt32($0 % 4)) }
        for step in 0..<3000 as Range<UInt32> {
            guard let destination = destinations.randomElement(using: &random) else { return }
            if Bool.random(using: &random) {
                table.set(registration(step), of: destination)
                model[destination] = registration(step)
            } else {
                table.remove(destination)
                model[destination] = nil
            }
        }
        #expect(table.count == model.count)
        let isRight = destinations.allSatisfy { table[$0] == model[$0] }
        #expect(isRight)
        let byDevice = destinations.allSatisfy { destination in
            let found = table.registrations(of: destination.deviceKey)
            return found.count == model.keys.count { $0.deviceKey == destination.deviceKey }
        }
        #expect(byDevice)
    }

    @Test(arguments: [1, 3, 1000])
    func `A search through all rows finds each once, even if found rows are removed`(limit: Int) {
        let table = RegistrationTable()
        let destinations = (0..<900 as Range<UInt64>).map { Example.destination($0 / 3, app: UInt32($0 % 3)) }
        for destination in destinations { table.set(registration(1), of: destination) }
        var position = RegistrationTable.Position()
        var found: [Destination] = []
        var batch: [Destination]
        repeat {
            batch = table.destinations(from: &position, limit: limit) { $0.rawValue == 1 }
            for destination in batch { table.remove(destination) }
            found += batch
        } while batch.count == limit
        let expected = destinations.filter { $0.app.rawValue == 1 }
        #expect(found.count == expected.count)
        #expect(Set(found) == Set(expected))
    }

    @Test
    func `The last generation is not followed by the first`() {
        var registration = registration(1)
        registration.generation = .max
        let isRenewed = registration.renewToken(tokenKeyID: 2, at: Example.moment)
        #expect(!isRenewed)
        #expect(registration.generation == .max)
    }
}
