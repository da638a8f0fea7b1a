import Testing

@testable import DeviceAgent

/// Dictionaries of D-Bus, as other programs on the bus send them.
struct BusValueTests {
    private func reader(_ write: (inout BusWriter) -> Void) -> BusReader {
        var writer = BusWriter()
        write(&writer)
        return BusReader(writer.bytes)
    }

    @Test func `Texts and bytes are read, and values of all other types are skipped`() {
        var reader = reader { writer in
            writer.writeArray(alignment: 8) { array in
                array.writeEntry("flag", "b") { $0.write(UInt32(1)) }
                array.writeEntry("small", "n") { writer in
                    writer.align(2); writer.write(1 as UInt8); writer.write(0 as UInt8)
                }
                array.writeEntry("large", "x") { $0.write(Int64(-1)) }
                array.writeEntry("texts", "as") { writer in
                    writer.writeArray(alignment: 4) {
                        $0.write("a"); $0.write("b")
                    }
                }
                array.writeEntry("nested", "(yv)") { writer in
                    writer.align(8)
                    writer.write(7 as UInt8)
                    writer.writeSignature("a{sv}")
                    writer.writeArray(alignment: 8) { $0.writeEntry("x", "s") { $0.write("y") } }
                }
                array.writeEntry("type", "g") { $0.writeSignature("a(ii)") }
                array.writeEntry("token", "s") { $0.write("T1") }
                array.writeEntry("message", "ay") { $0.write([1, 2, 3] as [UInt8]) }
            }
        }
        let values = reader.dictionary()
        #expect(values?.count == 8)
        #expect(values?["token"] == .text("T1") && values?["message"] == .bytes([1, 2, 3]))
        #expect(values?["nested"] == .other && values?["type"] == .other)
    }

    @Test func `A dictionary that ends anywhere cannot be read, nor one with a type that is none`() {
        var writer = BusWriter()
        writer.writeDictionary([("token", .text("T1")), ("message", .bytes([1, 2, 3]))])
        for length in 0..<writer.bytes.count {
            var reader = BusReader(Array(writer.bytes.prefix(length)))
            #expect(reader.dictionary() == nil, "\(length)")
        }
        let deep = String(repeating: "(", count: 100) + "y" + String(repeating: ")", count: 100)
        for type in ["", "z", "a", "(s", "ss", ")", "a{s", deep, String(repeating: "a", count: 200) + "y"] {
            var reader = reader { writer in
                writer.writeArray(alignment: 8) {
                    $0.writeEntry("x", type) {
                        $0.write(UInt32(0)); $0.write(UInt32(0))
                    }
                }
            }
            #expect(reader.dictionary() == nil, "\(type)")
        }
    }
}
