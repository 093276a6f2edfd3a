/** A schema with one of everything, and the data behind it. */
import { createSchema, createYoga } from "graphql-yoga";

export const RICH_SDL = /* GraphQL */ `
  "A moment, ISO-8601."
  scalar DateTime @specifiedBy(url: "https://scalars.example/date-time")
  scalar JSON

  enum Species { "Barks." DOG "Meows." CAT }

  interface Node { id: ID! }
  interface Named { name: String! }

  type Person implements Node & Named {
    id: ID!
    name: String!
    born: DateTime
    friends(first: Int, last: Int, after: String): [Person!]!
    pets(limit: Int = 10): [Pet!]!
    greeting(to: String!): String!
    boss: Person
    address: Address
    extra: JSON
  }
  type Address { street: String, city: City }
  type City { name: String!, country: Country }
  type Country { code: String! }

  type Dog implements Node & Named { id: ID!, name: String!, age: Int, owner: Person, volume: Float! }
  type Cat implements Node & Named { id: ID!, name: String!, age: String, owner: Person, lives: Int! }
  union Pet = Dog | Cat

  input Range { from: Int! = 0, to: Int }
  input Filter { and: [Filter!], or: [Filter!], not: Filter, name: String, species: Species, age: Range }
  input ByOne @oneOf { id: ID, name: String }
  input NewPet { name: String!, species: Species! = DOG, tags: [String!]! = [], meta: JSON, born: DateTime }

  type Query {
    "Everybody."
    people(filter: Filter, first: Int! = 5): [Person!]!
    person(by: ByOne!): Person
    node(id: ID!): Node
    named: [Named!]!
    pets(species: [Species!]): [Pet!]!
    matrix(rows: [[Int!]!]!): [[Int!]!]!
    echo(int: Int, float: Float, text: String, flag: Boolean, id: ID, when: DateTime, json: JSON, species: Species): JSON
    count: Int!
    species: Species!
    nothing: String
    select(select: String!): Person
    old: String @deprecated(reason: "use count")
    fails: Person
    failsPartly: [Person]
    both: Int
    constructor: Int
  }
  type Mutation {
    addPet(input: NewPet!): Pet!
    removeAll: Int!
    both: Int
  }
  type Subscription { ticks: Int! }
`;

const ada = { __typename: "Person", id: "p1", name: "Ada", born: "1815-12-10T00:00:00Z", extra: { a: [1] } };
const bob = {
  __typename: "Person",
  id: "p2",
  name: "Bob",
  boss: ada,
  address: { street: "1 High St", city: { name: "X", country: { code: "GB" } } },
};
const rex = { __typename: "Dog", id: "d1", name: "Rex", age: 3, volume: 9.5, owner: ada };
const tom = { __typename: "Cat", id: "c1", name: "Tom", age: "old", lives: 9, owner: bob };

const resolvers = {
  Query: {
    people: (_: unknown, { first }: { first: number }) => [ada, bob].slice(0, first),
    person: (_: unknown, { by }: { by: { id?: string; name?: string } }) =>
      [ada, bob].find((person) => person.id === by.id || person.name === by.name) ?? null,
    node: (_: unknown, { id }: { id: string }) => [ada, bob, rex, tom].find((node) => node.id === id) ?? null,
    named: () => [ada, rex, tom],
    pets: (_: unknown, { species }: { species?: string[] }) =>
      [rex, tom].filter((pet) => !species || species.includes(pet.__typename.toUpperCase())),
    matrix: (_: unknown, { rows }: { rows: number[][] }) => rows,
    echo: (_: unknown, given: object) => given,
    count: () => 2,
    species: () => "DOG",
    nothing: () => null,
    select: () => ada,
    old: () => "old",
    fails: () => {
      throw new Error("the person is out");
    },
    failsPartly: () => [ada, new Error("this one is out")],
    both: () => 1,
    constructor: () => 2,
  },
  Mutation: {
    addPet: (_: unknown, { input }: { input: object }) => ({ ...rex, ...input }),
    removeAll: () => 4,
    both: () => 2,
  },
  Person: {
    friends: () => [bob],
    pets: () => [rex],
    greeting: (_: unknown, { to }: { to: string }) => `Hello ${to}`,
  },
};

/** Same format as graphql-yoga. */
export function createRichServer() {
  return createYoga({
    schema: createSchema({ typeDefs: RICH_SDL, resolvers }),
    maskedErrors: false,
    logging: false,
  });
}
