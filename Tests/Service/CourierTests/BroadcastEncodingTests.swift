import NIOCore
import Testing

@testable import Courier

@Suite("The lines of broadcasts")
struct BroadcastEncodingTests {
    @Test func `Broadcasts that are written in turns are encoded once each`() {
        var encoding = BroadcastEncoding()
        var encoded: [UInt64] = []
        for number in [1, 2, 1, 2, 3, 1, 2, 3] as [UInt64] {
            let line = encoding.line(of: number) {
                encoded.append(number)
                return ByteBuffer(integer: number)
            }
            #expect(line == ByteBuffer(integer: number))
        }
        #expect(encoded == [1, 2, 3])
        encoding.removeAll()
        _ = encoding.line(of: 1) {
            encoded.append(1)
            return ByteBuffer()
        }
        #expect(encoded == [1, 2, 3, 1])
    }

    @Test func `The number of lines in memory is limited`() {
        var encoding = BroadcastEncoding()
        var count = 0
        func line(_ number: Int) {
            _ = encoding.line(of: UInt64(number)) {
                count += 1
                return ByteBuffer()
            }
        }
        for number in 1...BroadcastEncoding.keptLines { line(number) }
        for number in 1...BroadcastEncoding.keptLines { line(number) }
        #expect(count == BroadcastEncoding.keptLines)
        line(BroadcastEncoding.keptLines + 1)
        line(1)
        #expect(count == BroadcastEncoding.keptLines + 2)
    }
}
